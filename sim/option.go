package sim

import (
	"math/bits"

	"github.com/goferry/goferry/sim/simstore"
)

// Chooser decides what happens next, among at least two options. The first is always the dullest: the process that
// went on last goes on, and nothing goes wrong. Then come the other processes, the network, and everything that does go
// wrong. The slice is good until Choose returns.
//
// A Chooser may panic, as rapid does to abandon a run: the processes are unwound on the way.
type Chooser interface {
	Choose(options []Option) int
}

// ChooserFunc is a Chooser that looks only at the number of options. This one draws from rapid:
//
//	sim.ChooserFunc(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") })
type ChooserFunc func(n int) int

// Choose calls f with the number of options.
func (f ChooserFunc) Choose(options []Option) int { return f(len(options)) }

// Option is something that may happen next.
type Option struct {
	w       *world
	kind    optionKind
	fault   Faults
	process int
	letter  int
}

type optionKind uint8

const (
	goOn optionKind = iota
	deliver
	heal
	crash
	cancel
)

// String says what would happen, such as "w1 commit", "w1 commit delayed", "w1's commit lands", "w1 crashes",
// "w1's caller leaves" or "outages end". The operation on a row names it: "w1 put b".
func (o Option) String() string {
	switch o.kind {
	case deliver:
		l := o.w.network[o.letter]
		return l.from + "'s " + operation(l.req) + " lands"
	case heal:
		return "outages end"
	}
	p := o.w.processes[o.process]
	switch o.kind {
	case crash:
		return p.spec.Name + " crashes"
	case cancel:
		return p.spec.Name + "'s caller leaves"
	}
	s := p.spec.Name + " " + operation(p.req)
	if o.fault != NoFault {
		s += " " + o.fault.String()
	}
	return s
}

func operation(r simstore.Request) string {
	if r.Op == simstore.Put {
		return r.Op.String() + " " + r.Row.String()
	}
	return r.Op.String()
}

// leaves says whether the option makes a process wait that could have gone on.
func (o Option) leaves() bool {
	switch o.kind {
	case cancel:
		return false
	case goOn, crash:
		if o.process == o.w.last {
			return false
		}
	}
	return o.w.processes[o.w.last].midCall()
}

// offer lists what may happen next. It is over when no process is parked: the rest of the network is for the epilogue.
func (w *world) offer() []Option {
	w.options = w.options[:0]
	for p := range w.inTurn {
		w.add(Option{w: w, kind: goOn, process: p.index})
	}
	if len(w.options) == 0 {
		return nil
	}
	for i, l := range w.network {
		if !w.alreadyOut(i, l) {
			w.add(Option{w: w, kind: deliver, letter: i})
		}
	}
	if len(w.outages) > 0 {
		w.add(Option{w: w, kind: heal})
	}
	for p := range w.inTurn {
		w.offerTrouble(p)
	}
	return w.options
}

func (w *world) offerTrouble(p *process) {
	if w.left.Faults > 0 && !w.refuses(p.req) {
		for kinds := w.s.Limits.Kinds.fit(p.req.Op); kinds != 0; kinds &= kinds - 1 {
			w.add(Option{w: w, kind: goOn, process: p.index, fault: kinds & -kinds})
		}
	}
	if w.left.Crashes > 0 && p.req.Op.Writes() {
		w.add(Option{w: w, kind: crash, process: p.index})
	}
	if w.left.Cancels > 0 && !p.call.cancelled && !p.call.Look {
		w.add(Option{w: w, kind: cancel, process: p.index})
	}
}

func (w *world) add(o Option) {
	limit := w.s.Limits.Preemptions
	if limit != Unbounded && w.preemptions >= limit && o.leaves() {
		return
	}
	w.options = append(w.options, o)
}

// inTurn yields the parked processes, beginning with the one that went on last.
func (w *world) inTurn(yield func(*process) bool) {
	if last := w.processes[w.last]; last.parked && !yield(last) {
		return
	}
	for i, p := range w.processes {
		if i != w.last && p.parked && !yield(p) {
			return
		}
	}
}

// alreadyOut says whether an equal write was listed before: which of two lands first makes no difference.
func (w *world) alreadyOut(i int, l letter) bool {
	for _, other := range w.network[:i] {
		if other.digest == l.digest {
			return true
		}
	}
	return false
}

func kindIndex(f Faults) int { return bits.TrailingZeros8(uint8(f)) }
