package sheets

import (
	"context"
	"slices"
	"time"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
	"github.com/goferry/goferry/schedule"
)

// State sums up a queue.
type State string

// The states, the first that applies.
const (
	StateFailed     State = "failed"     // a transaction failed
	StateRecovering State = "recovering" // one is claimed, or half done
	StatePending    State = "pending"    // one waits
	StateProcessed  State = "processed"  // all are done
	StateIdle       State = "idle"       // there are none
)

// QueueStatus is what [Queue.ReadTaskQueueStatus] answers. It holds no payloads and no keys.
type QueueStatus struct {
	State State
	// Pending, Processing, Done and Failed count transactions.
	Pending, Processing, Done, Failed int
	// OldestPending is when the first transaction that waits was enqueued, zero if none does.
	OldestPending time.Time
	// RecentFailures are the last ten, newest first.
	RecentFailures []Failure
	// Tampered counts the edits of internal sheets that were detected. Holes counts sequences whose rows are gone though
	// no cleanup removed them. Quarantined counts rows that belong to no transaction that can be told; they are left alone.
	Tampered, Holes int64
	Quarantined     int
	// Waiting counts the transactions without a verdict.
	Waiting int
}

// Failure is a transaction that failed.
type Failure struct {
	TransactionID string
	Sequence      int64
	Code          Code
}

// retried runs an operation until no other writer gets in its way.
func retried[T any](ctx context.Context, op func(context.Context) (T, error)) (T, error) {
	return schedule.Retry(ctx, retrying, func(ctx context.Context) (T, error) {
		v, err := op(ctx)
		if err != nil {
			return v, errorOf(err)
		}
		return v, nil
	})
}

// ReadTaskQueueStatus counts what the queue holds. It writes nothing.
func (q *Queue) ReadTaskQueueStatus(ctx context.Context) (QueueStatus, error) {
	st, err := q.read(ctx)
	if err != nil {
		return QueueStatus{}, err
	}
	q.mu.Lock()
	s := QueueStatus{Tampered: st.fence.Tampered + q.edited, Quarantined: st.index.quarantined()}
	q.mu.Unlock()
	sequences := int64(0)
	st.index.each(func(id string, facts []taskFact) {
		s.count(id, facts)
		for _, fact := range facts {
			if fact.sequence > st.fence.RemovedSequence {
				sequences++
			}
		}
	})
	s.Holes = max(0, st.counter-st.fence.RemovedSequence-sequences)
	s.Waiting = len(st.groups)
	for _, g := range st.groups {
		if s.OldestPending.IsZero() || g.rows[0].created.Before(s.OldestPending) {
			s.OldestPending = g.rows[0].created
		}
	}
	slices.SortFunc(s.RecentFailures, func(a, b Failure) int { return int(b.Sequence - a.Sequence) })
	s.RecentFailures = s.RecentFailures[:min(10, len(s.RecentFailures))]
	s.State = s.state()
	return s, nil
}

func (s *QueueStatus) count(id string, facts []taskFact) {
	processing := slices.ContainsFunc(facts, func(f taskFact) bool { return f.status == StatusProcessing })
	switch v := verdictOf(facts); {
	case v.Status == StatusDone:
		s.Done++
	case v.Status == StatusFailed:
		s.Failed++
		s.RecentFailures = append(s.RecentFailures, Failure{id, facts[0].sequence, v.Code})
	case processing:
		s.Processing++
	default:
		s.Pending++
	}
}

func (s *QueueStatus) state() State {
	switch {
	case s.Failed > 0:
		return StateFailed
	case s.Processing > 0:
		return StateRecovering
	case s.Pending > 0:
		return StatePending
	case s.Done > 0:
		return StateProcessed
	}
	return StateIdle
}

// ReadCanonical answers the rows of a table as they are applied so far, in the order of the sheet. Values are typed: text,
// float64, bool or nil. It never shows what is only queued. Rows with a blank key are skipped; duplicate keys are
// a schema_drift.
func (q *Queue) ReadCanonical(ctx context.Context, sheet string) ([]Row, error) {
	return retried(ctx, func(ctx context.Context) ([]Row, error) {
		st, err := q.load(ctx)
		if err != nil {
			return nil, err
		}
		sheets, invalid := st.meta.mapping(sheet)
		switch {
		case invalid != nil:
			return nil, invalid
		case sheets == nil:
			return nil, &Error{Code: CodeSheetNotFound, Sheet: sheet, Detail: "the table is not set up"}
		}
		t, err := q.wholeTable(ctx, st, *sheets)
		if err != nil {
			return nil, err
		}
		return t.all(), nil
	})
}

// wholeTable reads a table that must be there and safe.
func (q *Queue) wholeTable(ctx context.Context, st *state, sheets sheetMapping) (*table, error) {
	ref := tableRef{sheets.Logical, sheets.Canonical, q.keyHeader(sheets)}
	if ref.keyHeader == "" {
		ref.keyHeader = "id" // What other writers' tables use.
	}
	tables, err := q.wholeTables(ctx, st, []tableRef{ref})
	if err != nil {
		return nil, err
	}
	t := tables[ref.name]
	switch {
	case t == nil:
		return nil, &Error{Code: CodeSheetNotFound, Sheet: sheets.Canonical, Detail: "the canonical sheet is gone"}
	case t.drift != "":
		return nil, &Error{Code: CodeSchemaDrift, Sheet: sheets.Canonical, Detail: t.drift}
	}
	return t, nil
}

// all answers the rows of a table that its view shows whole.
func (t *table) all() []Row {
	rows := make([]Row, 0, len(t.order))
	for _, row := range t.order {
		fields, _ := t.current(row.key)
		rows = append(rows, fields)
	}
	return rows
}

// Reset gives a failed transaction another run, with all its attempts. It runs by its old sequence, that is before
// everything that waits. It is refused if the transaction is not failed, not whole, was edited, or has lost its payloads.
func (q *Queue) Reset(ctx context.Context, transactionID string) error {
	_, err := retried(ctx, func(ctx context.Context) (*state, error) {
		st, g, err := q.failedGroup(ctx, transactionID)
		if err != nil {
			return nil, err
		}
		rows := g.set(time.Now(), StatusPending, "", "")
		for i := range rows {
			r := &rows[i]
			r.attempts = 0
			if problem := r.findProblem(); problem != "" || !g.complete() {
				return nil, &Error{Code: CodeInvalidTask, Transaction: transactionID, Task: r.task.ID, Row: r.at,
					Detail: "cannot run again: " + problem + g.missing()}
			}
		}
		return q.commit(ctx, st, change{rows: rows, layout: true})
	})
	return err
}

func (g *group) missing() string {
	if g.complete() {
		return ""
	}
	return g.haveWant()
}

// Discard gives up a failed transaction for good: its payloads are redacted at once, and it cannot be reset any more.
func (q *Queue) Discard(ctx context.Context, transactionID string) error {
	_, err := retried(ctx, func(ctx context.Context) (*state, error) {
		st, g, err := q.failedGroup(ctx, transactionID)
		if err != nil {
			return nil, err
		}
		rows := slices.Clone(g.rows)
		for i := range rows {
			rows[i].payload, rows[i].updated, rows[i].problem = redacted, time.Now(), ""
		}
		return q.commit(ctx, st, change{rows: rows})
	})
	return err
}

// failedGroup reads a transaction that must have failed, whole.
func (q *Queue) failedGroup(ctx context.Context, id string) (*state, *group, error) {
	st, rows, err := q.allRows(ctx)
	if err != nil {
		return nil, nil, err
	}
	groups, _ := groupRows(rows)
	for _, g := range groups {
		if g.id == id && g.all(StatusFailed) {
			return st, g, nil
		}
	}
	return nil, nil, &Error{Code: CodeInvalidTask, Transaction: id, Detail: "the queue holds no failed transaction with this id"}
}

// CleanupOptions say what [Queue.Cleanup] removes.
type CleanupOptions struct {
	// MinRetention is how long a transaction stays after its verdict. Default 7 days, at least 24 hours. Replays
	// are recognised for as long, and no longer.
	MinRetention time.Duration
	// RedactFailedAfter is how long a failed transaction keeps its payloads. Default MinRetention.
	RedactFailedAfter time.Duration
	_                 struct{}
}

// Cleaned counts the rows that a cleanup removed and redacted.
type Cleaned struct{ Removed, Redacted int }

const (
	defaultRetention = 7 * 24 * time.Hour
	minRetention     = 24 * time.Hour
)

// Cleanup removes the rows of transactions that ended long ago, and redacts the payloads of failed ones. It keeps what an
// open transaction depends on, and never lets a sequence be used again. A MinRetention below 24 hours is refused.
func (q *Queue) Cleanup(ctx context.Context, opts CleanupOptions) (Cleaned, error) {
	if opts.MinRetention == 0 {
		opts.MinRetention = defaultRetention
	}
	if opts.RedactFailedAfter == 0 {
		opts.RedactFailedAfter = opts.MinRetention
	}
	if opts.MinRetention < minRetention || opts.RedactFailedAfter < 0 {
		return Cleaned{}, &Error{Code: CodeConfiguration, Detail: "MinRetention is less than 24 hours, or RedactFailedAfter negative"}
	}
	return retried(ctx, func(ctx context.Context) (Cleaned, error) { return q.cleanup(ctx, opts) })
}

func (q *Queue) cleanup(ctx context.Context, opts CleanupOptions) (Cleaned, error) {
	st, rows, err := q.allRows(ctx)
	if err != nil {
		return Cleaned{}, err
	}
	groups, _ := groupRows(rows)
	needed := map[string]bool{}
	for _, g := range groups {
		if g.open() {
			needed[g.rows[0].dependsOn] = true
		}
	}
	now := time.Now()
	var remove, redact []queueRow
	for _, g := range groups {
		age := now.Sub(g.touched())
		switch {
		case g.open():
		case age >= opts.MinRetention && !needed[g.id]:
			remove = append(remove, g.rows...)
		case age >= opts.RedactFailedAfter:
			for _, r := range g.rows {
				if r.status == StatusFailed && r.payload != redacted {
					r.payload, r.problem = redacted, ""
					redact = append(redact, r)
				}
			}
		}
	}
	for rows := range slices.Chunk(redact, 500) {
		if st, err = q.commit(ctx, st, change{rows: rows}); err != nil {
			return Cleaned{}, err
		}
	}
	if len(remove) > 0 {
		_, err = q.commit(ctx, st, removal(st, remove, now))
	}
	return Cleaned{Removed: len(remove), Redacted: len(redact)}, err
}

// removal deletes rows from the bottom up.
func removal(st *state, rows []queueRow, now time.Time) change {
	slices.SortFunc(rows, func(a, b queueRow) int { return b.at - a.at })
	var requests []*sheetsv4.Request
	for i := 0; i < len(rows); {
		last, first := rows[i].at, rows[i].at
		for i++; i < len(rows) && rows[i].at == first-1; i++ {
			first--
		}
		requests = append(requests, grid.DeleteRows(st.queueID, first, last))
	}
	return change{requests: requests, layout: true, edit: func(f *fence.State) {
		head := f.Head
		for _, r := range rows {
			count(f, r.status, -1)
			f.RemovedSequence = max(f.RemovedSequence, r.sequence)
			if int64(r.at) < head {
				f.Head--
			}
		}
		f.Tail -= int64(len(rows))
		f.RemovedAt = isoTime(now)
	}}
}
