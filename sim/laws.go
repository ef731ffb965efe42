package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/sim/simstore"
)

// Law is what the simulation holds the code to.
type Law string

// The laws of states, checked after every write.
const (
	// Once: no entry is twice in the log or in the view.
	Once Law = "once"
	// Grows: log and view only grow.
	Grows Law = "grows"
	// Follows: the view is a prefix of the log, or its rows are of entries in the log.
	Follows Law = "follows"
	// HonestMarker: a record that is not pending has a complete view.
	HonestMarker Law = "honest marker"
)

// The laws of answers, checked when a call returns.
const (
	// Truth: an answer is as it is in the store. Results are positions in the log, causes are the errors of the
	// store, and only a write whose outcome is unknown is called unknown.
	Truth Law = "truth"
	// Evidence: a call answers only what it saw for itself, even if it happens to be true.
	Evidence Law = "evidence"
	// Acknowledged: a call whose commit was acknowledged does not fail.
	Acknowledged Law = "acknowledged"
	// Succeeds: a call gives up only when every try that its schedule allows was disturbed, by a fault of its own or
	// by a write of others: f faults and 2f retries are enough.
	Succeeds Law = "succeeds"
)

// The laws of conduct.
const (
	// Cost: an undisturbed call is exactly read, commit, project. Nothing is written that changes nothing, and there
	// are no more tries than the schedule allows.
	Cost Law = "cost"
	// Fresh: a write is made for the record that the call saw last.
	Fresh Law = "fresh"
	// Order: a batch is folded in its order.
	Order Law = "order"
	// Cancelled: when the caller has left, only the operation in flight is finished.
	Cancelled Law = "cancelled"
	// Contained: a panic of the store ends the call and never leaves it.
	Contained Law = "contained"
	// Ends: every run ends.
	Ends Law = "ends"
	// Finished: when the faults are over, one sweep completes every view that nothing refuses for good, also
	// after the last late write.
	Finished Law = "finished"
)

// Violation is a law that was broken.
type Violation struct {
	Law  Law
	Text string
}

// Error names the law and says what happened.
func (v *Violation) Error() string { return fmt.Sprintf("sim: law %q broken: %s", v.Law, v.Text) }

// broke notes the first violation, which ends the run.
func (w *world) broke(law Law, format string, args ...any) {
	if w.violation == nil {
		w.violation = &Violation{Law: law, Text: fmt.Sprintf(format, args...)}
	}
}

func (w *world) checkState(key string, before, after simstore.Cell) {
	log, view := after.Record.Log, after.View
	switch {
	case repeats(log):
		w.broke(Once, "%s: an entry is twice in the log %v", key, log)
	case !isPrefix(before.Record.Log, log):
		w.broke(Grows, "%s: the log was %v and is %v", key, before.Record.Log, log)
	case w.s.Layout == LogOnly:
	case repeats(view):
		w.broke(Once, "%s: an entry is twice in the view %v", key, view)
	case !isPrefix(before.View, view):
		w.broke(Grows, "%s: the view was %v and is %v", key, before.View, view)
	case w.s.Layout == WholeRecord && !isPrefix(view, log), !setOf(view).within(setOf(log)):
		w.broke(Follows, "%s: the view is %v and the log %v", key, view, log)
	case !w.s.Store.Marker.Pending(after.Record) && len(view) != len(log):
		w.broke(HonestMarker, "%s: nothing is pending, the view is %v and the log %v", key, view, log)
	}
}

func repeats(ids []simstore.ID) bool {
	var seen set
	for _, id := range ids {
		if seen.has(id) {
			return true
		}
		seen |= 1 << id
	}
	return false
}

func isPrefix(a, b []simstore.ID) bool { return len(a) <= len(b) && slices.Equal(a, b[:len(a)]) }

// begin notes how the store is when a call begins.
func (w *world) begin(p *process) {
	c := &p.call
	cell := w.store.Cell(c.Key)
	c.stored = cell.Stored
	if w.s.Layout == Rows {
		c.rows = len(cell.View)
	}
	c.mix(uint64(c.stored)<<8 | uint64(c.rows))
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

// answered checks the answer of a batch.
func (w *world) answered(p *process, outs []Outcome, err error) {
	if p.dead {
		return
	}
	w.returned(p, func(r *Made) { r.Outcomes, r.Err = outs, err })
	defer w.checkCost(p) // Last: a lie is worse than a waste.
	c := &p.call
	switch {
	case err != nil:
		w.checkFailed(p, err)
	case len(outs) != len(c.Inputs):
		w.broke(Truth, "%s: %d answers for %d inputs", p.spec.Name, len(outs), len(c.Inputs))
	default:
		complete := w.s.Layout != LogOnly && !c.anyRowFailed() && !c.cancelled
		for i, in := range c.Inputs {
			w.checkOutcome(p, in, outs[i])
			complete = complete && outs[i].Status == projected.Projected
		}
		if complete && !c.cleared {
			w.broke(Evidence, "%s: answered projected, and does not know the marker to be cleared", p.spec.Name)
		}
		w.cover(c, outs)
	}
}

func (w *world) checkFailed(p *process, err error) {
	c := &p.call
	unknown := true
	if e, ok := errors.AsType[interface {
		error
		NotWritten() bool
	}](err); ok {
		unknown = !e.NotWritten()
	}
	w.coverage["answer failed"]++
	switch {
	case c.committed:
		w.broke(Acknowledged, "%s: failed after its commit was acknowledged", p.spec.Name)
	case w.gaveUpEarly(c, 0, w.s.Retries+1):
		w.broke(Succeeds, "%s: failed after %d disturbances with %d retries", p.spec.Name, w.disturbances(c), w.s.Retries)
	case c.panicked:
		return
	case unknown != c.unknown:
		w.broke(Truth, "%s: failed with outcome unknown = %v, and it is %v", p.spec.Name, unknown, c.unknown)
	case c.cancelled && !errors.Is(err, context.Canceled):
		w.broke(Truth, "%s: failed after its caller left without saying so", p.spec.Name)
	case c.cancelled:
	case !errors.Is(err, c.lastErr):
		w.broke(Truth, "%s: failed with another error than its last", p.spec.Name)
	default:
		w.coverage["retries exhausted"]++
	}
}

func (w *world) checkOutcome(p *process, in Input, out Outcome) {
	c, who := &p.call, p.spec.Name
	cell := w.store.Cell(c.Key)
	switch out.Status {
	case projected.Projected:
		w.checkProjected(p, in, out)
	case projected.Committed:
		w.checkCommitted(p, in, out)
	default:
		w.broke(Truth, "%s: %v answered with no status", who, in.ID)
	}
	at := slices.Index(cell.Record.Log, in.ID)
	switch {
	case at != out.Result:
		w.broke(Truth, "%s: %v answered to be at %d and is at %d", who, in.ID, out.Result, at)
	case !in.Reject && !c.known.has(in.ID):
		w.broke(Evidence, "%s: %v answered %v, which the call has never seen in the log", who, in.ID, out.Status)
	}
}

func (w *world) checkProjected(p *process, in Input, out Outcome) {
	c, who := &p.call, p.spec.Name
	cell := w.store.Cell(c.Key)
	switch {
	case out.Err != nil:
		w.broke(Truth, "%s: %v answered projected with a cause", who, in.ID)
	case in.Reject:
	case !slices.Contains(cell.View, in.ID):
		w.broke(Truth, "%s: %v answered projected, and the view is %v", who, in.ID, cell.View)
	case !c.shown.has(in.ID):
		w.broke(Evidence, "%s: %v answered projected, which the call does not know", who, in.ID)
	}
}

func (w *world) checkCommitted(p *process, in Input, out Outcome) {
	c, who := &p.call, p.spec.Name
	if w.s.Layout == LogOnly {
		return
	}
	own := c.rowErr(in.ID)
	switch {
	case c.cancelled || c.panicked:
	case own != nil:
		if !errors.Is(out.Err, own) {
			w.broke(Truth, "%s: %v answered committed with another cause than that of its row", who, in.ID)
		}
		return
	case w.gaveUpEarly(c, c.settledAt, w.s.Retries+2):
		w.broke(Succeeds, "%s: %v answered committed after %d disturbances with %d retries", who, in.ID, w.disturbances(c)-c.settledAt, w.s.Retries)
	case !errors.Is(out.Err, c.lastErr):
		w.broke(Truth, "%s: %v answered committed with another cause than the last error", who, in.ID)
	}
	if out.Err == nil {
		w.broke(Truth, "%s: %v answered committed without a cause", who, in.ID)
	}
}

func (w *world) cover(c *call, outs []Outcome) {
	var seen [3]bool
	for i, out := range outs {
		seen[out.Status] = true
		if out.Status == projected.Committed && w.s.Layout != LogOnly && !c.cancelled && !c.panicked && c.rowErr(c.Inputs[i].ID) == nil {
			w.coverage["projection exhausted"]++
		}
		switch {
		case c.Inputs[i].Reject:
			w.coverage["answer rejected"]++
		case out.Status == projected.Projected:
			w.coverage["answer projected"]++
		default:
			w.coverage["answer committed"]++
		}
	}
	if seen[projected.Projected] && seen[projected.Committed] {
		w.coverage["batch answered in part"]++
	}
}

// resumed checks the answer of a sweeper's visit.
func (w *world) resumed(p *process, left projected.Projection[simstore.ID], err error) {
	if p.dead {
		return
	}
	w.returned(p, func(r *Made) { r.Left, r.Err = left, err })
	defer w.checkCost(p)
	c, who := &p.call, p.spec.Name
	view := setOf(w.store.Cell(c.Key).View)
	switch {
	case err != nil:
		w.coverage["resume failed"]++
		if w.gaveUpEarly(c, 0, w.s.Retries+1) {
			w.broke(Succeeds, "%s: resume failed after %d disturbances with %d retries", who, w.disturbances(c), w.s.Retries)
		}
		return
	case !c.read:
		w.broke(Evidence, "%s: resume answered without having read", who)
	}
	done := c.last
	for _, id := range slices.Sorted(maps.Keys(left)) {
		cause, own := left[id], c.rowErr(id)
		switch {
		case c.cancelled:
		case own == nil:
			w.broke(Truth, "%s: resume left %v, whose row did not fail", who, id)
		case !errors.Is(cause, own):
			w.broke(Truth, "%s: resume left %v with another cause than that of its row", who, id)
		}
		done &^= 1 << id
	}
	switch {
	case !done.within(view):
		w.broke(Truth, "%s: resume answered complete, and the view is %v", who, w.store.Cell(c.Key).View)
	case !done.within(c.shown), len(left) == 0 && !c.cleared:
		w.broke(Evidence, "%s: resume answered complete, which it does not know", who)
	case len(left) > 0:
		w.coverage["resume left rows"]++
	}
}

// checkFinished wants every view complete that can be.
func (w *world) checkFinished() {
	for _, key := range w.store.Keys() {
		var stuck set
		hopeless := false
		for _, b := range w.s.Broken {
			switch {
			case b.Key != "" && b.Key != key:
			case b.Op == simstore.Put:
				stuck |= 1 << b.Row
			case b.Op != simstore.Commit && b.Op != simstore.Clear:
				hopeless = true
			}
		}
		cell := w.store.Cell(key)
		if missing := setOf(cell.Record.Log) &^ stuck &^ setOf(cell.View); missing != 0 && !hopeless {
			w.broke(Finished, "%s: after the last sweep the view is %v and the log %v", key, cell.View, cell.Record.Log)
		}
	}
}
