package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// cell is a way to write.
type cell struct {
	name      string
	writers   int
	batch     int  // entries a write
	hot       bool // all writers write to one key, else each to its own
	lanes     bool // through a ferry
	inStep    bool // all writers write at once, and wait for each other
	view      bool // each write is a commit and a projection of its rows
	ungrouped bool // to the store that does not gather writes
	patient   bool // a write that failed waits a little before it is tried again
	hand      bool // by hand, without goferry
}

var cells = []cell{
	{name: "seq1", writers: 1, batch: 1},
	{name: "seq1 by hand", writers: 1, batch: 1, hand: true},
	{name: "seq64", writers: 1, batch: 64},
	{name: "seq64 by hand", writers: 1, batch: 64, hand: true},
	{name: "64 keys", writers: 64, batch: 1},
	{name: "64 keys ungrouped", writers: 64, batch: 1, ungrouped: true},
	{name: "64x64", writers: 64, batch: 64},
	{name: "many64", writers: 64, batch: 1, inStep: true},
	{name: "proj1", writers: 1, batch: 1, view: true},
	{name: "proj64", writers: 1, batch: 64, view: true},
	{name: "proj64 by hand", writers: 1, batch: 64, view: true, hand: true},
	{name: "hot8", writers: slots, batch: 1, hot: true},
	{name: "hot8 lanes", writers: slots, batch: 1, hot: true, lanes: true},
}

// probe counts what is asked of a store.
type probe struct {
	store
	commits, refused, projections atomic.Int64

	mu    sync.Mutex
	times []time.Duration // of commits; guarded by mu
}

// latest is the read of the pipelines. It drops the entries that nobody needs any more, and hands out no spare capacity.
func (p *probe) latest(ctx context.Context, key string) (record, error) {
	r, err := p.Read(ctx, key)
	if !r.Behind {
		r.Body.Last = nil
	}
	r.Body.Recent, r.Body.Last = slices.Clip(r.Body.Recent), slices.Clip(r.Body.Last)
	return r, err
}

func (p *probe) Commit(ctx context.Context, key string, read, next record) (record, error) {
	begun := time.Now()
	stored, err := p.store.Commit(ctx, key, read, next)
	took := time.Since(begun)
	p.commits.Add(1)
	if errors.Is(err, backends.ErrConflict) {
		p.refused.Add(1)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.times = append(p.times, took)
	return stored, err
}

func (p *probe) project(ctx context.Context, key string, r record) (projected.Projection[id], error) {
	p.projections.Add(1)
	return p.ProjectRows(ctx, key, r)
}

func (p *probe) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.times = nil
}

// quantile is of the commits since forget was called, 0 if there were none.
func (p *probe) quantile(q float64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.times) == 0 {
		return 0
	}
	slices.Sort(p.times)
	return p.times[int(q*float64(len(p.times)-1))]
}

// A write that failed is tried again at once: what that costs on a hot key is to be seen.
var (
	plain   = fold.New[*backends.Error](entry.ident, (*probe).latest, enter, (*probe).Commit, schedule.Forever())
	patient = fold.New[*backends.Error](entry.ident, (*probe).latest, enter, (*probe).Commit,
		schedule.Exponential(time.Millisecond).Capped(20*time.Millisecond).Jittered())
	viewed = projected.New(
		fold.New[*backends.Error](entry.ident, (*probe).latest, backends.Step(add), (*probe).Commit, schedule.Forever()),
		record.Pending,
		(*probe).project)
)

type call = func(ctx context.Context, key string, batch []entry) ([]id, error)

// withView is a call that writes the rows too. A row that is late is a failure here.
func withView(p *probe) call {
	write := viewed.Provide(p)
	return func(ctx context.Context, key string, batch []entry) ([]id, error) {
		outcomes, err := write.Call(ctx, key, batch)
		ids := make([]id, len(outcomes))
		for i, o := range outcomes {
			ids[i] = o.Result
			err = errors.Join(err, o.Err)
		}
		return ids, err
	}
}

// run is a cell that runs.
type run struct {
	cell
	name  string // the beginning of its keys
	probe *probe
	call  call
	done  atomic.Int64
	over  atomic.Bool

	// By writer; each element is its writer's.
	acked   []uint32 // entries
	slowest []time.Duration
}

func newRun(c cell, name string, t target) (r *run, end func(context.Context) error) {
	p := &probe{store: t.store}
	r = &run{
		cell: c, name: name, probe: p, call: plain.Provide(p).Call,
		acked: make([]uint32, c.writers), slowest: make([]time.Duration, c.writers),
	}
	end = func(context.Context) error { return nil }
	switch {
	case c.hand:
		r.call = byHand(t.hand, c.view)
	case c.patient:
		r.call = patient.Provide(p).Call
	case c.view:
		r.call = withView(p)
	case c.lanes:
		lanes := ferry.PerKey(ferry.Config{}, func(e entry) string { return r.key(e.ID.writer()) }, r.call)
		end = lanes.Close
		r.call = func(ctx context.Context, _ string, batch []entry) ([]id, error) {
			out, err := lanes.Submit(ctx, batch[0])
			return []id{out}, err
		}
	}
	return r, end
}

func (r *run) key(writer int) string {
	if r.hot {
		writer = 0
	}
	return fmt.Sprintf("%s/%d", r.name, writer)
}

// write is one write of a writer's next entries.
func (r *run) write(ctx context.Context, writer int) error {
	batch := make([]entry, r.batch)
	for i := range batch {
		batch[i].ID = idOf(writer, r.acked[writer]+uint32(i))
	}
	begun := time.Now()
	outs, err := r.call(ctx, r.key(writer), slices.Clone(batch))
	if err != nil {
		return err
	}
	r.slowest[writer] = max(r.slowest[writer], time.Since(begun))
	for i, e := range batch {
		if outs[i] != e.ID {
			return fmt.Errorf("entry %d of writer %d was answered as %d of %d", e.ID.number(), writer, outs[i].number(), outs[i].writer())
		}
	}
	r.acked[writer] += uint32(len(batch))
	r.done.Add(int64(len(batch)))
	return nil
}

// round is one write of every writer.
func (r *run) round(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	for w := range r.writers {
		all.Go(func() error { return r.write(ctx, w) })
	}
	return all.Wait()
}

// repeat goes on until the run is over, and at least once.
func (r *run) repeat(once func() error) error {
	for {
		if err := once(); err != nil || r.over.Load() {
			return err
		}
	}
}

func (r *run) begin(ctx context.Context) *errgroup.Group {
	all, ctx := errgroup.WithContext(ctx)
	if r.inStep {
		all.Go(func() error { return r.repeat(func() error { return r.round(ctx) }) })
		return all
	}
	for w := range r.writers {
		all.Go(func() error { return r.repeat(func() error { return r.write(ctx, w) }) })
	}
	return all
}

// window is when a cell is measured: for measure, after warm.
type window struct{ warm, measure time.Duration }

// figures are what was found of a cell. The rate and the times, which JSON has in nanoseconds, are of the window; everything
// else is of the whole run.
type figures struct {
	PerSecond                     float64       // entries
	P50, P99                      time.Duration // of commits
	Entries                       int64
	Commits, Refused, Projections int64 // that were asked for
	Work                          work
	Lost, Doubled                 int
}

// grace is what the last writes of a cell may take.
const grace = time.Minute

// measure runs a cell on a store that nobody else uses. Its keys begin with name, and are new.
func (c cell) measure(ctx context.Context, name string, t target, w window) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, w.warm+w.measure+grace)
	defer cancel()
	r, end := newRun(c, name, t)
	var before work
	if t.work != nil {
		before = t.work()
	}
	writers := r.begin(ctx)
	f := r.watch(w)
	if err := errors.Join(writers.Wait(), end(ctx)); err != nil {
		return figures{}, err
	}
	if t.work != nil && !c.hand {
		f.Work = t.work().since(before)
	}
	p := r.probe
	f.Entries, f.Commits, f.Refused, f.Projections = r.done.Load(), p.commits.Load(), p.refused.Load(), p.projections.Load()
	var err error
	f.Lost, f.Doubled, err = r.check(ctx)
	return f, err
}

// watch waits for the window, measures, and ends the run.
func (r *run) watch(w window) figures {
	time.Sleep(w.warm)
	r.probe.forget()
	begun, done := time.Now(), r.done.Load()
	time.Sleep(w.measure)
	rate := float64(r.done.Load()-done) / time.Since(begun).Seconds()
	r.over.Store(true)
	return figures{PerSecond: rate, P50: r.probe.quantile(0.5), P99: r.probe.quantile(0.99)}
}

// check compares what is stored with what was answered, entry by entry.
func (r *run) check(ctx context.Context) (lost, doubled int, err error) {
	held := map[string]body{}
	for w, acked := range r.acked {
		key := r.key(w)
		if _, ok := held[key]; !ok {
			got, err := r.probe.Read(ctx, key)
			if err != nil {
				return 0, 0, err
			}
			held[key] = got.Body
			lost, doubled = lost+int(got.Body.Lost), doubled+int(got.Body.Doubled)
		}
		missing := int(acked) - int(held[key].Next[w%slots])
		lost, doubled = lost+max(missing, 0), doubled+max(-missing, 0)
		if r.view {
			absent, extra, err := r.checkRows(ctx, w)
			if err != nil {
				return 0, 0, err
			}
			lost, doubled = lost+absent, doubled+extra
		}
	}
	return lost, doubled, nil
}

// checkRows is for a key with one writer.
func (r *run) checkRows(ctx context.Context, writer int) (absent, extra int, err error) {
	shown, err := r.probe.Rows(ctx, r.key(writer))
	if err != nil {
		return 0, 0, err
	}
	due := map[id]bool{}
	for n := range r.acked[writer] {
		due[idOf(writer, n)] = true
	}
	for _, row := range shown {
		if !due[row.ID] {
			extra++
		}
		delete(due, row.ID)
	}
	return len(due), extra, nil
}
