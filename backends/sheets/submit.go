package sheets

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Receipt says that a transaction is in the queue.
type Receipt struct {
	TransactionID string
	// Sequence orders the transactions: it is that of its first task.
	Sequence int64
	// Verdict is what is known of its end so far.
	Verdict Verdict

	queue *Queue
}

// Outcome is the answer of [Queue.Submit]. A Projected one has a final verdict, done or failed. A Committed one is in
// the queue, and its Err says why it has no verdict yet.
type Outcome = projected.Outcome[*Error, Receipt]

// answer is what step says of a transaction: a receipt, or why it is refused.
type answer struct {
	Receipt
	refused *Error
}

type submitted = projected.Outcome[*Error, answer]

// retrying is the schedule of a round trip: other writers, lost answers, and failures that may pass.
var retrying = schedule.WhileFailure(
	schedule.Exponential(100*time.Millisecond).Capped(10*time.Second).Jittered().And(schedule.Recurs(12)), (*Error).passing)

// passing says whether the same may succeed if it is tried again.
func (e *Error) passing() bool {
	again := e.Code == CodeConflict && (errors.Is(e.Err, fence.ErrConflict) || errors.Is(e.Err, errMoved))
	return again || e.Code == CodeUnknownOutcome || e.Code == CodeInternalError
}

// write is the queue as a commit and a projection: transactions are appended to the queue, then applied to the tables.
var write = projected.New(
	fold.New[*Error](Transaction.id, (*Queue).readFor, step, (*Queue).appendClaimed, retrying),
	(*state).pending,
	(*Queue).project,
)

// enqueue is its commit alone, for several transactions that are taken or refused together.
var enqueue = fold.New[*Error](batchID, (*Queue).readFor, stepAll, (*Queue).appendPending, retrying)

func batchID([]Transaction) string { return "" }

func (q *Queue) readFor(ctx context.Context, _ string) (*state, error) { return q.read(ctx) }

func (q *Queue) project(ctx context.Context, _ string, st *state) (projected.Projection[string], error) {
	p := q.newPass(ProcessOptions{}, unbounded)
	if _, err := p.pass(ctx, st); err != nil {
		return nil, err
	}
	return p.progress.Waiting, nil
}

// step assigns a sequence to each task of a new transaction, answers a replay as the first time, and refuses what
// clashes with the queue.
func step(st *state, tx Transaction) (*state, answer, bool) {
	if receipt, known := st.replay(tx); known != nil {
		return st, answer{refused: known}, false
	} else if receipt != nil {
		return st, answer{Receipt: *receipt}, false
	}
	if err := st.admit(tx); err != nil {
		return st, answer{refused: err}, false
	}
	next := *st
	first := st.counter + 1
	next.counter += int64(len(tx.Tasks))
	next.added = append(st.added[:len(st.added):len(st.added)], enqueued{tx, first})
	return &next, answer{Receipt: Receipt{
		TransactionID: tx.ID, Sequence: first, Verdict: Verdict{Status: StatusPending},
	}}, true
}

// stepAll takes all of several transactions, or none.
func stepAll(st *state, txs []Transaction) (*state, []answer, bool) {
	next, changed := st, false
	answers := make([]answer, len(txs))
	for i, tx := range txs {
		after, a, ch := step(next, tx)
		if answers[i] = a; a.refused != nil {
			return st, answers, false
		}
		if ch {
			next, changed = after, true
		}
	}
	return next, answers, changed
}

// replay answers the receipt of a transaction that the queue holds, or the refusal of one that only looks like it.
// Nobody joins a transaction that exists.
func (s *state) replay(tx Transaction) (*Receipt, *Error) {
	for _, e := range s.added {
		if e.tx.ID != tx.ID {
			continue
		}
		if !sameTasks(e.tx, tx) {
			return nil, &Error{Code: CodeDuplicateTransaction, Transaction: tx.ID, Detail: "its id is taken by another transaction"}
		}
		return &Receipt{TransactionID: tx.ID, Sequence: e.sequence, Verdict: Verdict{Status: StatusPending}}, nil
	}
	facts := s.index.transaction(tx.ID)
	if len(facts) == 0 {
		return nil, nil
	}
	for i, task := range tx.Tasks {
		fact, known := s.index.task(task.ID)
		replayed := known && fact.transaction == tx.ID &&
			(fact.fingerprint == fingerprint(tx.ID, i, task) || fact.fingerprint == legacyMarker+task.ID)
		switch {
		case known && !replayed:
			return nil, &Error{Code: CodeDuplicateTask, Transaction: tx.ID, Task: task.ID, Detail: "its id is taken by another task"}
		case !known:
			return nil, &Error{Code: CodeDuplicateTransaction, Transaction: tx.ID, Task: task.ID, Detail: "nobody can join a transaction"}
		}
	}
	if len(facts) != len(tx.Tasks) {
		return nil, &Error{Code: CodeDuplicateTransaction, Transaction: tx.ID, Detail: "the queue holds it with other tasks"}
	}
	return &Receipt{TransactionID: tx.ID, Sequence: facts[0].sequence, Verdict: verdictOf(facts)}, nil
}

func sameTasks(a, b Transaction) bool {
	if len(a.Tasks) != len(b.Tasks) {
		return false
	}
	for i := range a.Tasks {
		if fingerprint(a.ID, i, a.Tasks[i]) != fingerprint(b.ID, i, b.Tasks[i]) {
			return false
		}
	}
	return true
}

// admit refuses a new transaction whose ids are taken, whose tables are not there, or that depends on an unknown one.
func (s *state) admit(tx Transaction) *Error {
	at := func(err *Error, task Task) *Error {
		err.Transaction, err.Task = tx.ID, task.ID
		return err
	}
	for _, task := range tx.Tasks {
		_, known := s.index.task(task.ID)
		if known || s.adds(task.ID) {
			return at(&Error{Code: CodeDuplicateTask, Detail: "its id is taken by another task"}, task)
		}
		if _, err := s.meta.ready(task.Sheet); err != nil {
			return at(err, task)
		}
	}
	if tx.DependsOn != "" && len(s.index.transaction(tx.DependsOn)) == 0 && !s.addsTransaction(tx.DependsOn) {
		return at(&Error{Code: CodeDependencyFailed, Detail: "the transaction it depends on is not in the queue"}, Task{})
	}
	return nil
}

func (s *state) adds(task string) bool {
	for _, e := range s.added {
		for _, t := range e.tx.Tasks {
			if t.ID == task {
				return true
			}
		}
	}
	return false
}

func (s *state) addsTransaction(id string) bool {
	for _, e := range s.added {
		if e.tx.ID == id {
			return true
		}
	}
	return false
}

// appendClaimed commits what step accepted. When nothing else is open the rows are claimed at once, which
// saves the write that would claim them.
func (q *Queue) appendClaimed(ctx context.Context, _ string, read, next *state) (*state, error) {
	status := StatusProcessing
	if read.pending() {
		status = StatusPending
	}
	return q.append(ctx, read, next.added, status)
}

func (q *Queue) appendPending(ctx context.Context, _ string, read, next *state) (*state, error) {
	return q.append(ctx, read, next.added, StatusPending)
}

func (q *Queue) append(ctx context.Context, st *state, added []enqueued, status Status) (*state, error) {
	now := time.Now()
	var ch change
	for _, e := range added {
		for i := range e.tx.Tasks {
			r := newQueueRow(e.tx, i, e.sequence+int64(i), status, now)
			if status == StatusProcessing {
				r.attempts, r.code = 1, stampCode
			}
			ch.added = append(ch.added, r)
		}
	}
	if status == StatusProcessing {
		groups, _ := groupRows(ch.added)
		ch.show = q.refs(st.meta, groups)
	}
	return q.commit(ctx, st, ch)
}

// newLanes makes the ferry of Submit: one lane, since a spreadsheet has one order of commits.
func (q *Queue) newLanes() *ferry.Ferry[string, Transaction, submitted] {
	config := q.config.Ferry
	if config.MaxWeight == 0 {
		config.MaxWeight = maxRequest - overhead
	}
	if config.BatchTimeout == 0 {
		config.BatchTimeout = 5 * time.Minute // A quota gives way after a minute, an unknown outcome after three.
	}
	call := write.Provide(q).Call
	return ferry.PerKeyWeighed(config, func(Transaction) string { return q.id }, Transaction.weight,
		func(ctx context.Context, id string, txs []Transaction) ([]submitted, error) {
			outs, err := call(ctx, id, txs)
			if err == nil {
				q.fillVerdicts(ctx, outs)
			}
			return outs, err
		})
}

// fillVerdicts gives every projected outcome its verdict. Step could not know it, and the projection speaks only of
// those that wait. A verdict that is not at hand costs one read.
func (q *Queue) fillVerdicts(ctx context.Context, outs []submitted) {
	var read bool
	for i := range outs {
		out := &outs[i]
		receipt := &out.Result.Receipt
		if out.Status != projected.Projected || out.Result.refused != nil || receipt.Verdict.Final() {
			continue
		}
		receipt.Verdict = q.known(receipt.TransactionID)
		if !receipt.Verdict.Final() && !read {
			read = true
			_, _ = q.load(ctx) // Without it the verdict stays pending, which is true enough.
			receipt.Verdict = q.known(receipt.TransactionID)
		}
	}
}

// known is the verdict of a transaction as far as the last read or commit of this process shows it.
func (q *Queue) known(id string) Verdict {
	q.mu.Lock()
	last := q.last
	q.mu.Unlock()
	if last == nil {
		return Verdict{Status: StatusPending}
	}
	if facts := last.index.transaction(id); len(facts) > 0 {
		return verdictOf(facts)
	}
	return Verdict{}
}

// Submit puts a transaction into the queue and applies it. Transactions of concurrent callers become one append and
// one apply. It blocks until its batch is answered or ctx ends; a transaction that fails, as by a conflict, is a
// verdict and no error.
//
// The error is an [*Error] if the transaction was refused: nothing of it is in the queue. Otherwise it is the
// ferry's or the commit's: see [ferry.NotSent] and [fold.Error]. After an unknown outcome submit the same
// transaction again: the queue finds it by its ids.
func (q *Queue) Submit(ctx context.Context, tx Transaction) (Outcome, error) {
	if err := tx.check(); err != nil {
		return Outcome{}, err
	}
	out, err := q.lanes.Submit(ctx, tx)
	if err != nil {
		return Outcome{}, err
	}
	if out.Result.refused != nil {
		return Outcome{}, out.Result.refused
	}
	out.Result.queue = q
	return Outcome{Status: out.Status, Result: out.Result.Receipt, Err: out.Err}, nil
}

// Close refuses further Submits, waits for those that are under way, and ends when ctx does. It is the ferry's Close.
func (q *Queue) Close(ctx context.Context) error { return q.lanes.Close(ctx) }

// EnqueueOptions say what becomes of a transaction after it is enqueued.
type EnqueueOptions struct {
	// Process applies the queue at once, as [Queue.ProcessTaskQueueBulk] does.
	Process bool
	_       struct{}
}

// EnqueueTasks puts whole transactions into the queue, in one write: all of them or none. A transaction that the queue
// holds already is answered with its stored sequence, and with its verdict if it has one; that holds
// for as long as [Queue.Cleanup] keeps it. The error is an *Error, or wraps one: a refusal names the transaction and the
// task. With [EnqueueOptions].Process an error after the write wraps the one of processing, and the receipts are answered.
func (q *Queue) EnqueueTasks(ctx context.Context, txs []Transaction, opts EnqueueOptions) ([]Receipt, error) {
	weight := overhead
	for _, tx := range txs {
		if err := tx.check(); err != nil {
			return nil, err
		}
		if weight += tx.weight(); weight > maxRequest {
			return nil, &Error{Code: CodeTooLarge, Transaction: tx.ID, Detail: "the transactions do not fit one request"}
		}
	}
	if len(txs) == 0 {
		return nil, nil
	}
	outs, err := enqueue.Provide(q).Call(ctx, q.id, [][]Transaction{txs})
	if err != nil {
		return nil, err
	}
	receipts := make([]Receipt, len(txs))
	for i, a := range outs[0] {
		if a.refused != nil {
			return nil, a.refused
		}
		receipts[i] = a.Receipt
		receipts[i].queue = q
	}
	if !opts.Process {
		return receipts, nil
	}
	_, err = q.ProcessTaskQueueBulk(ctx, ProcessOptions{})
	for i := range receipts {
		receipts[i].Verdict = q.known(receipts[i].TransactionID)
	}
	return receipts, err
}

// ProcessTaskQueue applies what is in the queue, one transaction in a batch, until nothing is left or the options
// end it. What it did, and what is left and why, is in the answer. An error leaves nothing half done: call it again, from
// any process. It retries what other writers get in the way of.
func (q *Queue) ProcessTaskQueue(ctx context.Context, opts ProcessOptions) (Progress, error) {
	return q.process(ctx, opts, 1)
}

// ProcessTaskQueueBulk is [Queue.ProcessTaskQueue] with as many transactions in a batch as fit a request: the faster one.
func (q *Queue) ProcessTaskQueueBulk(ctx context.Context, opts ProcessOptions) (Progress, error) {
	return q.process(ctx, opts, unbounded)
}

func (q *Queue) process(ctx context.Context, opts ProcessOptions, batch int) (Progress, error) {
	p := q.newPass(opts, batch)
	_, err := schedule.Retry(ctx, retrying, func(ctx context.Context) (*state, error) {
		st, err := q.read(ctx)
		if err != nil {
			return nil, err
		}
		return p.pass(ctx, st)
	})
	return p.progress, err
}

// Resume finishes what was interrupted, by whomever. It answers the transactions that still wait, and why.
func (q *Queue) Resume(ctx context.Context) (map[string]error, error) {
	return write.Provide(q).Resume(ctx, q.id)
}

// Run resumes the queue whenever it is pending, and with [SyncSweeper] brings the visible sheets up to date, until
// ctx ends. Any number of processes may run it. An idle queue costs about four reads a minute. Set hooks with sweeper;
// nil sets none.
func (q *Queue) Run(ctx context.Context, sweeper func(*projected.Sweeper[string, string])) error {
	every := schedule.Spaced(15 * time.Second).Jittered()
	queue := projected.NewSweeper(write, q, (*Queue).pendingKeys)
	views := projected.NewSweeper(visible, q, (*Queue).behindTables)
	var running sync.WaitGroup
	for _, s := range []*projected.Sweeper[string, string]{queue, views} {
		if s == views && q.config.Sync != SyncSweeper {
			continue
		}
		s.Every, s.Timeout, s.MinBackoff, s.Concurrency = every, 5*time.Minute, time.Second, 1
		if sweeper != nil {
			sweeper(s)
		}
		running.Go(func() { _ = s.Run(ctx) }) // It ends with ctx, and only with it.
	}
	running.Wait()
	return ctx.Err()
}

func (q *Queue) pendingKeys(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		st, err := q.read(ctx)
		if err != nil || st.pending() {
			yield(q.id, err)
		}
	}
}

// Wait blocks until the transaction has its verdict, or ctx ends. It asks the spreadsheet now and then; somebody must
// process the queue. The zero Verdict means that the queue does not hold it any more.
func (r Receipt) Wait(ctx context.Context) (Verdict, error) {
	if r.Verdict.Final() {
		return r.Verdict, nil
	}
	waits := schedule.Exponential(500 * time.Millisecond).Capped(10 * time.Second).Jittered().Start()
	for {
		st, err := r.queue.read(ctx)
		if err != nil {
			return r.Verdict, err
		}
		facts := st.index.transaction(r.TransactionID)
		if len(facts) == 0 {
			return Verdict{}, nil
		}
		if v := verdictOf(facts); v.Final() {
			return v, nil
		}
		delay, _ := waits.Next(nil)
		if err := schedule.Sleep(ctx, delay); err != nil {
			return r.Verdict, err
		}
	}
}
