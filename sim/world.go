package sim

import (
	"hash/maphash"
	"slices"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/sim/simstore"
)

// maxSteps bounds a run, and the sweep at its end once more.
const maxSteps = 200

// world is a scenario under way. It can be run any number of times.
type world struct {
	s         Scenario
	store     *simstore.Store
	processes []*process
	sweeper   *process // the one that comes when everything else is over

	network     []letter
	outages     []Broken
	left        Limits // what may still go wrong; Preemptions is not used
	last        int    // the process that went on last
	steps       int
	preemptions int

	violation *Violation
	coverage  Coverage
	onStore   func(string, simstore.Cell)
	schedule  []int  // what was chosen
	trace     *Trace // nil unless recording

	options []Option
	buf     []byte
	seed    maphash.Seed
}

// letter is a write in the network.
type letter struct {
	from   string
	req    simstore.Request
	digest digest
}

func newWorld(s Scenario) *world {
	s.mustMakeSense()
	if s.Limits.Kinds == NoFault {
		s.Limits.Faults = 0
	}
	w := &world{s: s, store: simstore.New(s.Store, s.keys()...), coverage: Coverage{}, seed: maphash.MakeSeed()}
	for i, spec := range s.Processes {
		w.processes = append(w.processes, w.process(i, spec))
	}
	sweep := Process{Name: "the last sweeper"}
	for _, key := range w.store.Keys() {
		sweep.Calls = append(sweep.Calls, Resume(key))
	}
	w.sweeper = w.process(len(s.Processes), sweep)
	return w
}

func (w *world) process(index int, spec Process) *process {
	p := &process{w: w, index: index, spec: spec}
	p.code = w.s.code(p)
	return p
}

// cutter is a Chooser that knows states it need not see again.
type cutter interface {
	Chooser
	// cut is asked before a choice and at the end. identity is not cheap.
	cut(identity func() uint64) bool
}

// run makes one history. Whatever ends it, a panic of the chooser included, no coroutine stays behind.
func (w *world) run(c Chooser) {
	w.reset()
	defer w.release()
	for _, p := range w.processes {
		p.start()
	}
	cut, _ := c.(cutter)
	for w.violation == nil {
		options := w.offer()
		if len(options) == 0 {
			break
		}
		choice := 0
		if len(options) > 1 {
			if cut != nil && cut.cut(w.identity) {
				return
			}
			choice = c.Choose(options)
			w.schedule = append(w.schedule, choice)
		}
		w.take(options[choice])
		if w.steps > maxSteps {
			w.broke(Ends, "the run goes on after %d steps", maxSteps)
		}
	}
	if w.violation == nil && (cut == nil || !cut.cut(w.identity)) {
		w.epilogue()
	}
}

func (w *world) reset() {
	w.store.Reset()
	w.network, w.outages = w.network[:0], w.outages[:0]
	w.left, w.last, w.steps, w.preemptions = w.s.Limits, 0, 0, 0
	w.violation, w.schedule = nil, w.schedule[:0]
}

func (w *world) release() {
	for _, p := range w.processes {
		p.release()
	}
	w.sweeper.release()
}

// close ends the coroutines. The world cannot be run again.
func (w *world) close() {
	for _, p := range w.processes {
		p.close()
	}
	w.sweeper.close()
}

// take makes the chosen thing happen.
func (w *world) take(o Option) {
	w.steps++
	w.note(o)
	if o.leaves() {
		w.preemptions++
	}
	switch o.kind {
	case goOn:
		w.last = o.process
		if o.fault != NoFault {
			w.left.Faults--
		}
		w.serve(w.processes[o.process], o.fault)
	case crash:
		w.last = o.process
		w.left.Crashes--
		w.crash(w.processes[o.process])
	case cancel:
		w.left.Cancels--
		p := w.processes[o.process]
		p.call.cancelled = true
		p.call.observed.add(callerLeft)
		p.cancel()
		w.coverage["a caller left"]++
	case deliver:
		l := w.network[o.letter]
		w.network = slices.Delete(w.network, o.letter, o.letter+1)
		w.deliver(l)
	case heal:
		w.outages = w.outages[:0]
	}
}

// serve answers the operation at which p is parked and lets p go on to the next.
func (w *world) serve(p *process, fault Faults) {
	c := &p.call
	if c.ops == 0 {
		w.begin(p)
	}
	c.ops++
	c.path = append(c.path, letters[p.req.Op])
	r := p.req
	if fault == NoFault && w.refuses(r) {
		fault = Refuse
	}
	a := w.meet(p, r, fault)
	if fault != NoFault {
		c.faults++
		c.observed.add(uint64(fault))
		w.coverage[faultAt[kindIndex(fault)][r.Op]]++
	} else if a.Err != nil {
		w.coverage[conflictAt[r.Op]]++
		c.observed.add(conflicted)
	}
	c.observe(w.s.Store.Marker, r, a)
	w.settle(c)
	w.noteAnswer(r, a)
	p.answer = a
	p.resume()
}

// meet is the operation and the fault that it meets.
func (w *world) meet(p *process, r simstore.Request, fault Faults) simstore.Answer {
	class := backends.ErrUnknown
	switch fault {
	case NoFault:
		return w.apply(r, &p.call)
	case Panic:
		p.call.panicked = true
		return simstore.Answer{}
	case Lose:
		w.apply(r, &p.call)
	case Delay:
		w.send(p, r)
	case Outage:
		w.outages = append(w.outages, Broken{Op: r.Op, Row: r.Row})
		class = backends.ErrRefused
	case Refuse:
		class = backends.ErrRefused
	}
	if r.Op == simstore.Commit && class == backends.ErrUnknown {
		p.call.unknown = true
	}
	return simstore.Answer{Err: injected(r, class)}
}

func (w *world) refuses(r simstore.Request) bool {
	meets := func(b Broken) bool { return b.meets(r) }
	return slices.ContainsFunc(w.outages, meets) || slices.ContainsFunc(w.s.Broken, meets)
}

// apply changes the store, on behalf of c if that is not nil, and checks the laws of states.
func (w *world) apply(r simstore.Request, c *call) simstore.Answer {
	cell := w.store.Cell(r.Key)
	before := *cell
	a := w.store.Do(r)
	if !r.Op.Writes() || a.Err != nil {
		return a
	}
	if c != nil {
		c.ownStored += cell.Stored - before.Stored
		c.ownRows += len(cell.View) - len(before.View)
	}
	if w.onStore != nil {
		w.onStore(r.Key, *cell)
	}
	w.checkState(r.Key, before, *cell)
	return a
}

func (w *world) crash(p *process) {
	w.coverage[crashAt[p.req.Op]]++
	w.send(p, p.req)
	p.die()
}

func (w *world) send(p *process, r simstore.Request) {
	w.network = append(w.network, letter{from: p.spec.Name, req: r, digest: digestOf(r)})
}

func (w *world) deliver(l letter) {
	a := w.apply(l.req, nil)
	w.noteAnswer(l.req, a)
	if a.Err != nil {
		w.coverage["late write refused"]++
	} else {
		w.coverage["late write landed"]++
	}
}

// epilogue turns liveness into a check of a last state: when all faults are over, one honest sweep makes every view
// equal to its log. Only then the writes that are still out land, which must not undo it.
func (w *world) epilogue() {
	w.outages = w.outages[:0]
	w.sweep()
	for _, l := range w.network {
		if w.violation != nil {
			return
		}
		w.steps++
		w.noteStep(Step{Process: l.from, Op: l.req.Op.String(), Key: l.req.Key, IDs: argument(l.req), Event: "lands at last"})
		w.deliver(l)
		w.sweep()
	}
	w.network = w.network[:0]
}

func (w *world) sweep() {
	if w.violation != nil || w.s.Layout == LogOnly {
		return
	}
	if !w.s.Mistakes.NoSweeper {
		p := w.sweeper
		p.start()
		defer p.release()
		for end := w.steps + maxSteps; p.parked && w.violation == nil; {
			if w.steps++; w.steps > end {
				w.broke(Ends, "the last sweep goes on after %d steps", maxSteps)
				return
			}
			w.noteStep(Step{Process: p.spec.Name, Op: p.req.Op.String(), Key: p.req.Key, IDs: argument(p.req)})
			w.serve(p, NoFault)
		}
	}
	w.checkFinished()
}
