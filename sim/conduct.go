package sim

import (
	"bytes"
	"slices"

	"github.com/goferry/goferry/sim/simstore"
)

// begin notes how the store is when a call begins.
func (w *world) begin(p *process) {
	c := &p.call
	cell := w.store.Cell(c.Key)
	c.stored = cell.Stored
	if w.s.Layout == Rows {
		c.rows = len(cell.View)
	}
	c.observed.add(uint64(c.stored)<<8 | uint64(c.rows))
	w.expect(c, cell)
	if w.trace != nil {
		c.number = len(w.trace.Calls)
		w.trace.Calls = append(w.trace.Calls, Made{Process: p.spec.Name, Call: c.Call, Began: w.steps})
	}
	if len(c.Inputs) > 1 {
		w.coverage["batch of more than one"]++
	}
}

// expect computes the path of the call if nobody disturbs it.
func (w *world) expect(c *call, cell *simstore.Cell) {
	if c.Look {
		c.expected = append(c.expected, 'l')
		return
	}
	log, accepted := setOf(cell.Record.Log), c.accepted()
	pending := w.s.Store.Marker.Pending(cell.Record)
	c.expected = append(c.expected, 'r')
	if added := accepted &^ log; added != 0 {
		c.expected = append(c.expected, 'c')
		log, pending = log|added, true
	} else if pending && accepted != 0 {
		w.coverage["replay found pending"]++
	}
	switch {
	case !pending || w.s.Layout == LogOnly:
	case w.s.Layout == WholeRecord:
		c.expected = append(c.expected, 'p')
	default:
		c.expected = append(c.expected, 'm')
		for missing := log &^ setOf(cell.View); missing != 0; missing &= missing - 1 {
			c.expected = append(c.expected, 'w')
		}
		c.expected = append(c.expected, 'x')
	}
}

// asked checks an operation when the process asks for it.
func (w *world) asked(p *process, r simstore.Request) {
	c := &p.call
	who := p.spec.Name
	switch {
	case c.cancelled:
		w.broke(Cancelled, "%s: a %v after the caller had left", who, r.Op)
	case c.panicked:
		w.broke(Contained, "%s: a %v after a panic", who, r.Op)
	case r.Op.Writes() && r.Op != simstore.Put && !(c.holds && same(r.Held, c.held)):
		w.broke(Fresh, "%s: a %v for another record than the call saw last", who, r.Op)
	case r.Op == simstore.Commit && !c.inOrder(r.Log[min(len(r.Held.Log), len(r.Log)):]):
		w.broke(Order, "%s: a commit of %v to %v, which is not the order of the batch", who, r.Log, r.Held.Log)
	case r.Op == simstore.Commit && slices.Equal(r.Log, r.Held.Log):
		w.broke(Cost, "%s: a commit that changes nothing", who)
	case (r.Op == simstore.Project || r.Op == simstore.Missing) && !w.s.Store.Marker.Pending(r.Held):
		w.broke(Cost, "%s: a projection of a record that is not pending", who)
	case r.Op == simstore.Put && !c.fresh:
		w.broke(Cost, "%s: put %v without asking which rows are missing", who, r.Row)
	case r.Op == simstore.Put && !c.missing.has(r.Row):
		w.broke(Cost, "%s: put %v, which is in the view", who, r.Row)
	}
}

func same(a, b simstore.Record) bool {
	return a.Version == b.Version && a.Marker == b.Marker && slices.Equal(a.Log, b.Log)
}

// disturbances counts what kept a call from succeeding: its faults, and the writes of others, its own late ones
// included.
func (w *world) disturbances(c *call) int {
	return c.faults + w.store.Cell(c.Key).Stored - c.stored - c.ownStored
}

func (w *world) undisturbed(c *call) bool {
	rows := 0
	if w.s.Layout == Rows {
		rows = len(w.store.Cell(c.Key).View) - c.rows - c.ownRows
	}
	return w.disturbances(c) == 0 && rows == 0 && !c.cancelled && !c.panicked
}

// settle notes when a call first knows what became of all its inputs.
func (w *world) settle(c *call) {
	if !c.settled && c.read && c.accepted().within(c.known) {
		c.settled, c.settledAt = true, w.disturbances(c)
		c.observed.add(uint64(c.settledAt))
	}
}

// checkCost is for calls that return, in whatever way.
func (w *world) checkCost(p *process) {
	c := &p.call
	tries := w.s.Retries + 1
	projections := c.count(simstore.Project) + c.count(simstore.Missing)
	switch {
	case w.undisturbed(c) && !bytes.Equal(c.path, c.expected):
		w.broke(Cost, "%s: an undisturbed call took the path %s and not %s", p.spec.Name, c.path, c.expected)
	case c.count(simstore.Commit) > tries, projections > tries+1, c.count(simstore.Read) > 2*tries,
		len(c.Inputs) == 0 && c.count(simstore.Read) > tries:
		w.broke(Cost, "%s: more tries than the schedule allows: %s", p.spec.Name, c.path)
	}
}

// gaveUpEarly says whether a call that gives up had a try left: it needs one undisturbed one out of tries.
func (w *world) gaveUpEarly(c *call, since, tries int) bool {
	return !c.cancelled && !c.panicked && w.disturbances(c)-since < tries
}
