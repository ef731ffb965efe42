package kit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/goferry/goferry/schedule"
)

// call is a batch of inputs by their numbers, or a visit of a sweeper if there are none.
type call []int

// actor is a process of a scenario.
type actor struct {
	name  string
	calls []call
}

// limits bound what may go wrong in a history.
type limits struct{ faults, crashes, preemptions int }

// scenario is who takes part.
type scenario struct {
	actors []actor
	// retries is how often a call tries again.
	retries int
	// kinds are the faults on offer, and late writes may land at any later moment.
	kinds []fault
	// lists says that a sweeper looks first whether the key is listed.
	lists bool
}

type fault uint8

const (
	none   fault = iota
	fail         // a read fails
	lose         // a write happens and its answer is lost
	late         // a write fails, and may happen later
	refuse       // a write does not happen
	stale        // a read or a listing answers what was there before the last write
	crash        // the process dies at a write, which may happen later
)

func (f fault) String() string {
	return [...]string{"", "fails", "answer lost", "answer lost, write delayed", "refused", "answers what was", "crashes, write delayed"}[f]
}

func (f fault) fits(op Op) bool {
	if f == stale {
		return op.Recall != nil
	}
	return f == fail != op.Kind.writes()
}

// world is one history of a scenario: its processes run one at a time, on coroutines that park at every operation.
type world struct {
	*session
	ctx      context.Context
	scenario scenario
	left     limits
	procs    []*proc
	last     *proc
	network  []letter
	options  []option
	misled   bool // somebody was
}

// letter is a write that may still happen.
type letter struct {
	from string
	op   Op
	ctx  context.Context
	seen stamp
}

// option is something that may happen next.
type option struct {
	p      *proc
	fault  fault
	letter int // of the network, if p is nil
}

type proc struct {
	handle
	w     *world
	calls []call
	next  func() (struct{}, bool)
	yield func(struct{}) bool

	op     Op
	ctx    context.Context // of the operation
	answer error
	parked bool
	dead   bool
	quit   bool // the history is over
	begun  bool // in the middle of a call
	misled bool // by a stale answer, in the call
	cancel context.CancelFunc
}

// run makes one history, with choose taking one of so many options, of which the first is the dullest.
func (sc scenario) run(ctx context.Context, store *Store, l limits, choose func(n int) int) *world {
	w := &world{session: newSession(store), ctx: ctx, scenario: sc, left: l}
	for _, a := range sc.actors {
		p := &proc{w: w, calls: a.calls, handle: handle{s: w.session, name: a.name}}
		next, stop := iter.Pull(p.live)
		defer stop()
		p.next = next
		w.procs = append(w.procs, p)
		p.resume()
	}
	w.last = w.procs[0]
	for w.broken == nil && w.offer() {
		choice := 0
		if len(w.options) > 1 {
			choice = choose(len(w.options))
		}
		w.take(w.options[choice])
	}
	w.epilogue()
	return w
}

// live makes the calls of a process.
func (p *proc) live(yield func(struct{}) bool) {
	p.yield = yield
	retry := schedule.Recurs(p.w.scenario.retries) // Without delays: every operation is a point where others may go first.
	for _, c := range p.calls {
		if p.quit {
			return
		}
		ctx, cancel := context.WithCancel(p.w.ctx)
		p.cancel, p.dead, p.begun, p.misled = cancel, false, false, false
		if len(c) == 0 {
			p.visit(ctx, retry)
		} else {
			answers, err := p.w.store.Call(p.do, retry, ctx, p.w.key, c)
			p.answered(c, answers, err)
		}
		cancel()
	}
}

// visit is what a sweeper does.
func (p *proc) visit(ctx context.Context, retry schedule.Schedule) {
	if p.w.scenario.lists {
		if listed, err := p.w.store.lists(p.do, ctx, p.w.key); !listed || err != nil {
			return
		}
	}
	left, err := p.w.store.Resume(p.do, retry, ctx, p.w.key)
	p.resumed(left, err)
}

// errDead is what the operations of a dead process get. It is no typed failure, and so it is not retried.
var errDead = errors.New("the process is dead")

// do parks at an operation until the world has performed it. A dead process can change nothing any more.
func (p *proc) do(ctx context.Context, op Op) error {
	if p.dead {
		return errDead
	}
	p.ctx, p.op, p.parked = ctx, op, true
	if !p.yield(struct{}{}) {
		p.quit, p.dead = true, true
	}
	if p.dead {
		return errDead
	}
	return p.answer
}

func (p *proc) resume() {
	p.parked = false
	p.next()
}

// offer lists what may happen next, the dullest first. It is over when every call has returned.
func (w *world) offer() bool {
	w.options = w.options[:0]
	parked := w.inTurn()
	for _, p := range parked {
		w.add(option{p: p})
	}
	if len(parked) == 0 {
		return false
	}
	if w.left.preemptions > 0 || !w.last.midCall() {
		for i := range w.network {
			w.options = append(w.options, option{letter: i})
		}
	}
	for _, p := range parked {
		for _, f := range w.scenario.kinds {
			if w.left.faults > 0 && f.fits(p.op) && (f != stale || w.former != nil) {
				w.add(option{p: p, fault: f})
			}
		}
		if w.left.crashes > 0 && p.op.Kind.writes() {
			w.add(option{p: p, fault: crash})
		}
	}
	return true
}

// inTurn answers the parked processes, beginning with the one that went on last.
func (w *world) inTurn() []*proc {
	var parked []*proc
	for _, p := range w.procs {
		switch {
		case !p.parked:
		case p == w.last:
			parked = slices.Insert(parked, 0, p)
		default:
			parked = append(parked, p)
		}
	}
	return parked
}

func (w *world) add(o option) {
	if w.left.preemptions > 0 || o.p == w.last || !w.last.midCall() {
		w.options = append(w.options, o)
	}
}

// midCall says whether the process could go on with a call that it has begun.
func (p *proc) midCall() bool { return p.parked && p.begun }

func (w *world) take(o option) {
	if o.p != w.last && w.last.midCall() {
		w.left.preemptions--
	}
	if o.p == nil {
		l := w.network[o.letter]
		w.network = slices.Delete(w.network, o.letter, o.letter+1)
		w.deliver(l)
		return
	}
	w.last = o.p
	if o.fault == crash {
		w.left.crashes--
	} else if o.fault != none {
		w.left.faults--
	}
	w.serve(o.p, o.fault)
}

// serve lets the operation at which p is parked meet a fault or none, and p go on to its next.
func (w *world) serve(p *proc, f fault) {
	p.begun = true
	switch f {
	case none, lose:
		p.answer = w.perform(p.ctx, p.name, p.op, f.String(), p.seen)
		if p.answer == nil && f == none && (p.op.Kind == Read || p.op.Kind == Commit) {
			p.seen = w.state.stamp
		}
	case late, crash:
		w.network = append(w.network, letter{p.name, p.op, context.WithoutCancel(p.ctx), p.seen})
		w.note(p, f)
	case stale:
		p.op.Recall(w.former.record)
		p.answer, p.seen, p.misled, w.misled = nil, w.former.at, true, true
		w.note(p, f)
	default:
		w.note(p, f)
	}
	if f != none && f != stale {
		p.answer = &injected{error: w.store.Failure(), sure: f == refuse || f == fail}
	}
	if f == crash {
		p.dead = true
		p.cancel()
	}
	p.resume()
	w.noteNetwork()
}

// note adds a step at which the store was not reached.
func (w *world) note(p *proc, f fault) {
	w.history.Steps = append(w.history.Steps, Step{Who: p.name, Op: string(p.op.Kind), IDs: p.op.IDs, Event: f.String(), After: w.state})
}

func (w *world) noteNetwork() {
	if len(w.network) == 0 || len(w.history.Steps) == 0 {
		return
	}
	step := &w.history.Steps[len(w.history.Steps)-1]
	for _, l := range w.network {
		step.Out = append(step.Out, l.from+" "+string(l.op.Kind))
	}
}

// deliver lets a late write happen. Nobody hears its answer, which is held to the laws all the same.
func (w *world) deliver(l letter) {
	w.perform(l.ctx, l.from, l.op, "lands late", l.seen)
	w.noteNetwork()
}

// injected is a failure of the user's type, as the world makes it up.
type injected struct {
	error
	sure bool // nothing was written
}

func (e *injected) Error() string    { return "injected: " + e.error.Error() }
func (e *injected) Unwrap() error    { return e.error }
func (e *injected) NotWritten() bool { return e.sure }

// answered holds the answers of a batch against the store.
func (p *proc) answered(c call, answers []Answer, err error) {
	w := p.w
	if p.dead || w.broken != nil {
		return
	}
	var ids []any
	for _, n := range c {
		ids = append(ids, w.store.ID(w.key, n))
	}
	p.returned(returnedText(answers, err))
	switch {
	case err != nil && notWritten(err) && contains(w.state.Log, ids) && w.submittedOnce(c):
		w.broke(Definite, "the call of %s failed, certain that nothing was written (%s), and the log is %q", p.name, firstLine(err), w.state.Log)
	case err != nil:
	case !contains(w.state.Log, ids):
		w.broke(Truth, "%s was answered for %q, and the log is %q", p.name, ids, w.state.Log)
	default:
		for i, a := range answers {
			id := ids[i : i+1]
			if a.Projected && !p.misled && contains(w.state.want, id) && !contains(w.state.View, id) {
				w.broke(Truth, "%s was answered projected for %q, and the view is %q", p.name, id, w.state.View)
			}
		}
	}
}

// submittedOnce says whether no other call has an input of c.
func (w *world) submittedOnce(c call) bool {
	times := 0
	for _, p := range w.procs {
		for _, other := range p.calls {
			if slices.ContainsFunc(other, func(n int) bool { return slices.Contains(c, n) }) {
				times++
			}
		}
	}
	return times == 1
}

func (p *proc) resumed(left map[any]error, err error) {
	if p.dead || p.w.broken != nil {
		return
	}
	switch {
	case err != nil:
		p.returned("resume failed: " + firstLine(err))
	case len(left) > 0:
		p.returned(fmt.Sprintf("%d entries left", len(left)))
	default:
		p.returned("nothing pending")
	}
}

func (p *proc) returned(text string) {
	if steps := p.w.history.Steps; len(steps) > 0 {
		steps[len(steps)-1].Returned = p.name + ": " + text
	}
}

func returnedText(answers []Answer, err error) string {
	if err != nil {
		return "failed: " + firstLine(err)
	}
	projected := 0
	for _, a := range answers {
		if a.Projected {
			projected++
		}
	}
	return fmt.Sprintf("%d projected, %d committed", projected, len(answers)-projected)
}

// epilogue turns liveness into a check of a last state: when all faults are over, the index is right and one sweep
// finishes the view. Only then the writes that are still out land, which must not undo it.
func (w *world) epilogue() {
	w.checkIndex(w.ctx)
	w.sweep(w.ctx)
	for _, l := range w.network {
		if w.broken == nil {
			w.deliver(l)
			w.sweep(w.ctx)
		}
	}
}
