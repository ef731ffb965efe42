package sheets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/goferry/goferry/backends/sheets/internal/fence"
)

// ProcessOptions bound a pass. The zero value bounds nothing.
type ProcessOptions struct {
	// MaxTransactions is how many transactions a pass may apply.
	MaxTransactions int
	// MaxRuntime is how long a pass may start new ones. When it has passed, the pass ends with a partial answer.
	MaxRuntime time.Duration
	_          struct{}
}

// Progress is what a pass did.
type Progress struct {
	// Done and Failed count the transactions that got their verdict, Recovered those of them, and of the ones put
	// back, that another kind of writer had left half way.
	Done, Failed, Recovered int
	// Waiting says of every acknowledged transaction without a verdict why: a [*WaitingError].
	Waiting map[string]error
}

// passing is one pass over the queue.
type passing struct {
	*Queue
	until    time.Time // zero: no end
	room     int       // transactions that may still be run
	limit    int       // how many may be in one batch
	batch    int       // how many are, less after the service refused a batch
	later    map[string]bool
	progress Progress
}

func (q *Queue) newPass(opts ProcessOptions, batch int) *passing {
	p := &passing{Queue: q, room: opts.MaxTransactions, limit: batch, batch: batch, later: map[string]bool{}}
	if p.room <= 0 {
		p.room = 1 << 30
	}
	if opts.MaxRuntime > 0 {
		p.until = time.Now().Add(opts.MaxRuntime)
	}
	return p
}

// unbounded is a batch of as many transactions as fit a request.
const unbounded = 1 << 30

func (p *passing) expired() bool { return !p.until.IsZero() && !time.Now().Before(p.until) }

// pass settles, claims and applies until nothing is left that may run. Each step is one commit, from the state that
// the one before left. Its error is an *Error; then the caller reads again, and nothing is lost.
func (p *passing) pass(ctx context.Context, st *state) (*state, error) {
	for {
		d := p.plan(st)
		var err error
		switch {
		case d.settles() || len(st.twins) > 0:
			st, err = p.settle(ctx, st, d)
		case len(d.run) > 0 && p.expired():
			st, err = p.release(ctx, st, d.run, CodeProcessorTimeout, "the pass ended before it was applied")
		case len(d.run) > 0:
			st, err = p.run(ctx, st, d.run)
		default:
			p.progress.Waiting = d.waiting
			return st, nil
		}
		if err != nil {
			return nil, errorOf(err)
		}
	}
}

func (p *passing) plan(st *state) plan {
	mine := func(number int64) bool { return p.claimed(st.fence, number) }
	return planner{
		mine: mine, now: time.Now(), lease: p.config.Lease, maxAttempts: p.config.MaxAttempts, later: p.later,
		closed: p.expired(), room: min(p.room, p.batch), weight: maxRequest - overhead,
	}.plan(st)
}

// settle writes what is decided without running anything: failures, what reconciliation found, and the claims.
func (p *passing) settle(ctx context.Context, st *state, d plan) (*state, error) {
	now := time.Now()
	var ch change
	weight := 0
	write := func(rows []queueRow) bool {
		weight += (&group{rows: rows}).weight()
		if fits := len(ch.rows) == 0 || weight < maxRequest-overhead; !fits {
			return false // The next step does it.
		}
		ch.rows = append(ch.rows, rows...)
		return true
	}
	failed, recovered := 0, 0
	for _, twin := range st.twins {
		write((&group{rows: []queueRow{twin}}).set(now, StatusFailed, string(CodeDuplicateTask), "its task is done in another row"))
	}
	tampered := int64(len(st.twins))
	for _, f := range d.fails {
		if write(f.g.set(now, StatusFailed, string(f.code), f.why)) {
			failed++
			if f.code == CodeInvalidTask || f.code == CodeDuplicateTask {
				tampered++ // No commit writes such a group.
			}
		}
	}
	ch.edit = func(s *fence.State) { s.Tampered += tampered }
	rows, err := p.reconcile(ctx, st, d.reconcile)
	if err != nil {
		return nil, err
	}
	for _, g := range d.reconcile {
		if write(rows[g.id]) {
			recovered++
		}
	}
	for _, g := range d.claims {
		write(g.set(now, StatusProcessing, stampCode, ""))
	}
	ch.show = p.refs(st.meta, d.claims)
	st, err = p.commit(ctx, st, ch)
	if err == nil {
		p.progress.Failed += failed
		p.progress.Recovered += recovered
	}
	return st, err
}

// reconcile judges groups that another kind of writer, or a person, left between their claim and their end, by what
// the tables show.
func (p *passing) reconcile(ctx context.Context, st *state, groups []*group) (map[string][]queueRow, error) {
	rows := map[string][]queueRow{}
	if len(groups) == 0 {
		return rows, nil
	}
	tables, err := p.wholeTables(ctx, st, p.refs(st.meta, groups))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for _, g := range groups {
		found := ambiguous
		if whole(tables, g) {
			found = g.reconcile(func(at target) (Row, bool) { return tables[at.sheet].current(at.key) })
		}
		switch {
		case found == applied:
			rows[g.id] = g.set(now, StatusDone, "", "")
		case found == notApplied && g.attempts() < p.config.MaxAttempts:
			rows[g.id] = g.set(now, StatusPending, "", "")
		case found == notApplied:
			rows[g.id] = g.set(now, StatusFailed, string(CodeRetryLimitExceeded), "recovered without an effect")
		default:
			rows[g.id] = g.set(now, StatusFailed, string(CodePartialApply), "the tables do not show whether it was applied")
		}
	}
	return rows, nil
}

// whole says whether the tables of a group can be judged.
func whole(tables map[string]*table, g *group) bool {
	return !slices.ContainsFunc(g.rows, func(r queueRow) bool {
		t := tables[r.task.Sheet]
		return t == nil || t.drift != "" || t.keyHeader != r.task.KeyHeader
	})
}

// run applies groups in memory, in their order, and writes tables and verdicts in one batch.
func (p *passing) run(ctx context.Context, st *state, groups []*group) (*state, error) {
	tables, err := p.needTables(ctx, st, p.refs(st.meta, groups))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	ch := change{settle: true}
	touched := map[string]*table{}
	done, failed := 0, map[string]bool{}
	for _, g := range groups {
		failure := mapped(st.meta, g)
		switch {
		case failed[g.rows[0].dependsOn]:
			failure = &Error{Code: CodeDependencyFailed, Task: g.rows[0].task.ID, Detail: "the transaction it depends on failed"}
		case failure == nil:
			failure = applyGroup(tables, g)
		}
		if failure != nil {
			failed[g.id] = true
			ch.rows = append(ch.rows, g.set(now, StatusFailed, string(failure.Code), failure.message())...)
			continue
		}
		done++
		ch.rows = append(ch.rows, g.set(now, StatusDone, "", "")...)
		for _, r := range g.rows {
			touched[r.task.Sheet] = tables[r.task.Sheet]
		}
	}
	ch.tables = slices.Collect(maps.Values(touched))
	after, err := p.commit(ctx, st, ch)
	if errors.Is(err, fence.ErrRefused) {
		return p.refused(ctx, groups)
	}
	if err != nil {
		return nil, err
	}
	p.batch = min(p.limit, max(p.batch, 2*len(groups)))
	p.room -= len(groups)
	p.progress.Done += done
	p.progress.Failed += len(failed)
	return after, nil
}

// mapped refuses a group whose tables have mappings that do not fit.
func mapped(meta *metaSheet, g *group) *Error {
	for _, r := range g.rows {
		if _, err := meta.mapping(r.task.Sheet); err != nil {
			err.Task = r.task.ID
			return err
		}
	}
	return nil
}

// message is what may stand in the queue about a failure: the task and words of this package.
func (e *Error) message() string {
	return fmt.Sprintf("task %q: %s", e.Task, e.Detail)
}

// refused deals with a batch that the service will not take. It is halved until one group is left; that one is to blame.
func (p *passing) refused(ctx context.Context, groups []*group) (*state, error) {
	st, err := p.load(ctx)
	if err != nil {
		return nil, err
	}
	if len(groups) > 1 {
		p.batch = len(groups) / 2
		return st, nil
	}
	g := st.group(groups[0].id)
	if g == nil {
		return st, nil // Somebody else ended it.
	}
	refs := p.refs(st.meta, []*group{g})
	view, err := p.tabs(ctx, titles(refs)...)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		switch tab := view.Tabs[ref.title]; {
		case tab == nil:
			return p.end(ctx, st, g, CodeSheetNotFound, "the table's sheet is gone")
		case tab.Protected:
			return p.end(ctx, st, g, CodeSheetProtected, "a range of the table's sheet is protected")
		}
	}
	return p.release(ctx, st, []*group{g}, CodeInternalError, "the service refused its batch")
}

// release gives claimed groups back after an attempt that counts. One without attempts left fails.
func (p *passing) release(ctx context.Context, st *state, groups []*group, code Code, why string) (*state, error) {
	var ch change
	failed := 0
	for _, g := range groups {
		p.later[g.id] = true
		if g.attempts() >= p.config.MaxAttempts {
			failed++
			ch.rows = append(ch.rows, g.set(time.Now(), StatusFailed, string(CodeRetryLimitExceeded), string(code)+": "+why)...)
			continue
		}
		ch.rows = append(ch.rows, g.set(time.Now(), StatusPending, string(code), why)...)
	}
	st, err := p.commit(ctx, st, ch)
	if err == nil {
		p.progress.Failed += failed
	}
	return st, err
}

// end fails one group.
func (p *passing) end(ctx context.Context, st *state, g *group, code Code, why string) (*state, error) {
	st, err := p.commit(ctx, st, change{rows: g.set(time.Now(), StatusFailed, string(code), why)})
	if err == nil {
		p.progress.Failed++
	}
	return st, err
}

// group answers an open group by its id, nil if it is not open.
func (s *state) group(id string) *group {
	i := slices.IndexFunc(s.groups, func(g *group) bool { return g.id == id })
	if i < 0 {
		return nil
	}
	return s.groups[i]
}
