package lanes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/sim/simstore"
)

// maxSteps bounds a history, and its epilogue once more.
const maxSteps = 300

// world is a scenario under way, for one history.
type world struct {
	s         Scenario
	store     *simstore.Store
	pipeline  func(*trip) call
	processes []*process
	callers   []*caller

	left        Limits // what may still happen; Preemptions is not used
	last        *process
	steps       int
	preemptions int

	violation *Violation
	coverage  Coverage
	schedule  []int
	trace     *Trace // nil unless recording
	options   []Option
	turn      []*operation

	parked []*operation
	begun  []*trip // in the last step
	ended  []*trip // likewise
	out    int     // calls, of all processes

	over atomic.Bool // operations fail at once
	mu   sync.Mutex
	news []func() // guarded by mu; what the goroutines of the processes have to tell
}

func newWorld(s Scenario, seen Coverage) *world {
	keys := s.names(func(c Caller) string { return c.Key })
	w := &world{s: s, store: simstore.New(s.Store, keys...), pipeline: s.pipeline(), left: s.Limits, coverage: seen}
	for i, name := range s.names(func(c Caller) string { return c.Process }) {
		p := &process{w: w, index: i, name: name}
		p.ferry = ferry.PerKey(s.Config, func(c *caller) string { return c.Key }, p.call)
		for _, key := range keys {
			p.lanes = append(p.lanes, &lane{p: p, key: key})
		}
		w.processes = append(w.processes, p)
	}
	for i, spec := range s.Callers {
		at := slices.IndexFunc(w.processes, func(p *process) bool { return p.name == spec.Process })
		w.callers = append(w.callers, &caller{Caller: spec, index: i, lane: w.processes[at].lane(spec.Key)})
	}
	return w
}

// tell is how goroutines change anything here: news is run by the goroutine of the simulation at the next rest.
func (w *world) tell(news func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.news = append(w.news, news)
}

// hear takes in what was told.
func (w *world) hear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, news := range w.news {
		news()
	}
	w.news = w.news[:0]
}

func (w *world) begin(t *trip) {
	w.tell(func() {
		w.begun = append(w.begun, t)
		w.out++
	})
}

func (w *world) end(t *trip, defect Faults, err error) {
	w.tell(func() {
		t.ended, t.defect, t.err = true, defect, err
		w.ended = append(w.ended, t)
		w.out--
	})
}

// cutter is a Chooser that knows states it need not see again.
type cutter interface {
	Chooser
	// cut is asked before a choice and at the end.
	cut(identity func() uint64) bool
}

// run makes the history. Whatever ends it, a panic of the chooser included, no goroutine stays behind.
func (w *world) run(c Chooser) {
	defer w.unwind()
	cut, _ := c.(cutter)
	for w.violation == nil {
		options := w.offer()
		if len(options) == 0 {
			break
		}
		if len(options) > 1 && cut != nil && cut.cut(w.identity) {
			return
		}
		choice := c.Choose(options)
		if len(options) > 1 {
			w.schedule = append(w.schedule, choice)
		}
		w.take(options[choice])
		if w.steps > maxSteps {
			w.broke(Ends, "the history goes on after %d steps", maxSteps)
		}
	}
	if w.violation == nil && (cut == nil || !cut.cut(w.identity)) {
		w.epilogue()
	}
}

// take makes the chosen thing happen and waits until the world is at rest.
func (w *world) take(o Option) {
	w.steps++
	if w.leaves(o) {
		w.preemptions++
	}
	w.note(o)
	if o.process != nil && o.kind != leave {
		w.last = o.process
	}
	switch o.kind {
	case serve:
		w.serve(o.op, o.fault)
	case arrive:
		w.arrive(o.caller)
	case leave:
		w.left.Cancels--
		o.process.observed.add(event(leave, o.caller.index))
		o.caller.cancelled = true
		o.caller.cancel()
	case tick:
		w.left.Ticks--
		w.pass(w.s.Tick)
	case shut:
		w.left.Closes--
		w.close(o.process)
	case giveUp:
		o.process.observed.add(event(giveUp, 0))
		o.process.gaveUp = time.Now()
		o.process.closeUntil()
	}
	synctest.Wait()
	w.look()
	w.finishStep()
}

func event(kind optionKind, of int) uint64 { return uint64(of)<<8 | uint64(kind) }

func (w *world) pass(d time.Duration) {
	for _, p := range w.processes {
		p.observed.add(event(tick, int(d/time.Microsecond)))
	}
	time.Sleep(d)
}

// serve answers a parked operation.
func (w *world) serve(op *operation, fault Faults) {
	w.parked = slices.DeleteFunc(w.parked, func(other *operation) bool { return other == op })
	a := answer{defect: fault}
	switch fault {
	case NoFault:
		a.Answer = w.apply(op.req)
		if a.Err != nil {
			w.coverage["conflict in "+op.t.p.name]++
		}
	case Refuse:
		a.Err = failed(op.req, backends.ErrRefused)
	case Lose:
		w.apply(op.req)
		a.Err = failed(op.req, backends.ErrUnknown)
	}
	if fault != NoFault {
		w.left.Faults--
		w.coverage[op.req.Op.String()+" "+fault.String()]++
	}
	op.t.p.observe(op.req, a)
	w.noteAnswer(op.req, a)
	op.answer <- a
}

// arrive lets a caller submit its input.
func (w *world) arrive(c *caller) {
	p := c.lane.p
	p.observed.add(event(arrive, c.index))
	c.since = time.Now()
	if c.refused = p.refuses(c.lane); c.refused == nil {
		c.lane.join(c)
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	go func() {
		out, err := p.ferry.Submit(ctx, c)
		w.tell(func() { c.answered, c.out, c.err = true, out, err })
	}()
}

func (w *world) close(p *process) {
	p.observed.add(event(shut, 0))
	p.closing = true
	if p.out() > 0 && p.queued() > 0 {
		w.coverage["close with one out and one queued"]++
	}
	var ctx context.Context
	ctx, p.closeUntil = context.WithCancel(context.Background())
	go func() {
		err := p.ferry.Close(ctx)
		w.tell(func() { p.closed, p.closeErr = true, err })
	}()
}

// epilogue lets the history come to its end without further trouble, and closes every process.
func (w *world) epilogue() {
	for end := w.steps + maxSteps; w.violation == nil && (len(w.parked) > 0 || w.anyWaits()); {
		if w.steps > end {
			w.broke(Ends, "the history goes on %d steps after its last choice", maxSteps)
			return
		}
		if len(w.parked) > 0 {
			w.take(Option{kind: serve, process: w.parked[0].t.p, op: w.parked[0]})
		} else {
			w.take(Option{kind: tick})
		}
	}
	for _, p := range w.processes {
		if !p.closing && w.violation == nil {
			w.take(Option{kind: shut, process: p})
		}
	}
}

// unwind ends whatever is still under way. A lane that does not let go is a violation, and panics: its goroutines
// would stop the bubble without a word.
func (w *world) unwind() {
	w.over.Store(true)
	if w.isOver() {
		return
	}
	for _, op := range w.parked {
		op.answer <- answer{Answer: simstore.Answer{Err: failed(op.req, backends.ErrRefused)}}
	}
	for _, c := range w.callers {
		if c.cancel != nil {
			c.cancel()
		}
	}
	for _, p := range w.processes {
		if !p.closing {
			w.close(p)
		}
		p.closeUntil()
	}
	time.Sleep(2 * (w.s.Config.BatchTimeout + w.s.Config.CancelGrace))
	synctest.Wait()
	if !w.isOver() {
		w.broke(Ends, "goroutines are left behind")
		panic(fmt.Sprintf("lanes: goroutines are left behind: %v", w.violation))
	}
}

// isOver says whether nothing of the world is still under way.
func (w *world) isOver() bool {
	if w.hear(); w.out > 0 {
		return false
	}
	for _, c := range w.callers {
		if c.cancel != nil && !c.answered {
			return false
		}
	}
	for _, p := range w.processes {
		if !p.closed {
			return false
		}
	}
	return true
}
