package lanes

import "github.com/goferry/goferry/sim"

// Chooser decides what happens next, among one option or more. The first is always the dullest: an operation of the
// process that acted last is served, then those of others, then arrivals, then everything that goes wrong. The slice
// is good until Choose returns.
//
// A Chooser may panic, as rapid does to abandon a history: the world is unwound on the way.
type Chooser interface {
	Choose(options []Option) int
}

// ChooserFunc is a Chooser that looks only at the number of options, and is asked only where there is a choice.
type ChooserFunc func(n int) int

// Choose calls f with the number of options, unless there is only one.
func (f ChooserFunc) Choose(options []Option) int {
	if len(options) == 1 {
		return 0
	}
	return f(len(options))
}

// Option is something that may happen next.
type Option struct {
	kind    optionKind
	fault   Faults
	process *process // nil for time
	op      *operation
	caller  *caller
}

type optionKind uint8

const (
	serve optionKind = iota
	arrive
	leave
	tick
	shut
	giveUp
)

// String says what would happen, such as "p commit k", "p commit k refused", "p's caller k a arrives", "p's caller
// k a leaves", "time passes", "p closes" or "p's Close gives up".
func (o Option) String() string {
	switch o.kind {
	case arrive:
		return o.caller.String() + " arrives"
	case leave:
		return o.caller.String() + " leaves"
	case tick:
		return "time passes"
	case shut:
		return o.process.name + " closes"
	case giveUp:
		return o.process.name + "'s Close gives up"
	}
	s := o.process.name + " " + o.op.req.Op.String() + " " + o.op.req.Key
	if o.fault != NoFault {
		s += " " + o.fault.String()
	}
	return s
}

// leaves says whether the option makes a process wait that could have gone on.
func (w *world) leaves(o Option) bool {
	return o.process != nil && o.process != w.last && o.kind != leave && w.last != nil && w.last.hasParked()
}

func (p *process) hasParked() bool {
	for _, op := range p.w.parked {
		if op.t.p == p {
			return true
		}
	}
	return false
}

// offer lists what may happen next. It is over when nobody is left to arrive or to be answered, or when only time could
// go on and no more is left of it: the rest is for the epilogue.
func (w *world) offer() []Option {
	w.options = w.options[:0]
	for _, op := range w.inTurn() {
		w.add(Option{kind: serve, process: op.t.p, op: op})
	}
	for _, c := range w.callers {
		if c.cancel == nil && !w.mustWait(c) {
			w.add(Option{kind: arrive, process: c.lane.p, caller: c})
		}
	}
	if len(w.options) == 0 && !w.anyWaits() {
		return nil
	}
	if w.left.Ticks > 0 {
		w.add(Option{kind: tick})
	}
	w.offerTrouble()
	return w.options
}

func (w *world) offerTrouble() {
	for _, c := range w.callers {
		if w.left.Cancels > 0 && c.cancel != nil && !c.told {
			w.add(Option{kind: leave, process: c.lane.p, caller: c})
		}
	}
	for _, p := range w.processes {
		switch {
		case !p.closing && w.left.Closes > 0:
			w.add(Option{kind: shut, process: p})
		case p.closing && !p.closed && p.gaveUp.IsZero():
			w.add(Option{kind: giveUp, process: p})
		}
	}
	if w.left.Faults == 0 {
		return
	}
	for _, op := range w.inTurn() {
		for kinds := w.s.Limits.Kinds.fit(op.req.Op); kinds != 0; kinds &= kinds - 1 {
			w.add(Option{kind: serve, process: op.t.p, op: op, fault: kinds & -kinds})
		}
	}
}

func (w *world) add(o Option) {
	limit := w.s.Limits.Preemptions
	if limit != sim.Unbounded && w.preemptions >= limit && w.leaves(o) {
		return
	}
	w.options = append(w.options, o)
}

// inTurn answers the parked operations, those of the process that acted last first.
func (w *world) inTurn() []*operation {
	w.turn = w.turn[:0]
	for _, op := range w.parked {
		if op.t.p == w.last {
			w.turn = append(w.turn, op)
		}
	}
	for _, op := range w.parked {
		if op.t.p != w.last {
			w.turn = append(w.turn, op)
		}
	}
	return w.turn
}

// mustWait says whether a caller of the same process and key is listed before c and has not arrived.
func (w *world) mustWait(c *caller) bool {
	for _, other := range w.callers[:c.index] {
		if other.lane == c.lane && other.cancel == nil {
			return true
		}
	}
	return false
}

// anyWaits says whether a caller that arrived has no answer yet.
func (w *world) anyWaits() bool {
	for _, c := range w.callers {
		if c.cancel != nil && !c.told {
			return true
		}
	}
	return false
}
