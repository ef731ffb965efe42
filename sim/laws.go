package sim

import (
	"fmt"
	"slices"

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
