package lanes

import (
	"fmt"
	"slices"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// Law is what the simulation holds the lanes to.
type Law = sim.Law

// Violation is a law that was broken. Its error names the law and says what happened.
type Violation = sim.Violation

// The laws of calls, checked when one begins.
const (
	// Order: the inputs of a key reach the call in the order of their arrival.
	Order = sim.Order
	// Apart: a call carries inputs of one key of one process.
	Apart Law = "apart"
	// OneInFlight: no two calls of a key are out at once in one process.
	OneInFlight Law = "one in flight"
	// SentOnce: no input is sent twice, or after its caller was told that it was not sent.
	SentOnce Law = "sent once"
	// Bounds: no bound of the configuration is ever exceeded, and nothing is refused while there is room.
	Bounds Law = "bounds"
	// Whole: a batch is closed as late as can be: it carries all that is queued, up to MaxBatch.
	Whole Law = "whole batch"
	// Turns: lanes are served in the order in which they became ready.
	Turns Law = "turns"
	// Lingers: a batch waits for more until its linger ends, by time or by a bound.
	Lingers Law = "lingers"
)

// The laws of answers, checked when a caller has one.
const (
	// Truth: an answer is the caller's own, as it is in the store, and an error is the one that happened.
	Truth = sim.Truth
	// NotSent: an input of which its caller was told so was never handed to a call, and an input whose outcome is
	// called unknown was.
	NotSent Law = "not sent"
	// Answered: whoever's call has returned, who leaves, or whose call was given up, is answered at once.
	Answered Law = "answered"
)

// The laws of rest, checked after every step.
const (
	// Once: no entry is twice in the log or in the view.
	Once = sim.Once
	// Grows: log and view only grow.
	Grows = sim.Grows
	// Prompt: what may be sent is sent: nothing waits beside a free slot and room.
	Prompt Law = "prompt"
	// Books: the ferry's own count of lanes, inputs and calls is right, so that whatever ended has given back its
	// place, its room and its slot, and an idle ferry has nothing.
	Books Law = "books"
	// OwnTime: the context of a call ends at its timeout and when Close gives up, not with a caller.
	OwnTime Law = "own time"
	// Closes: Close returns as soon as everything is answered or its patience is over, and not before.
	Closes Law = "closes"
	// Ends: every history ends.
	Ends = sim.Ends
)

// broke notes the first violation, which ends the history.
func (w *world) broke(law Law, format string, args ...any) {
	if w.violation == nil {
		w.violation = &Violation{Law: law, Text: fmt.Sprintf(format, args...)}
	}
}

// apply changes the store and checks that what was there still is.
func (w *world) apply(r simstore.Request) simstore.Answer {
	cell := w.store.Cell(r.Key)
	before := *cell
	a := w.store.Do(r)
	w.checkEntries(r.Key, "log", before.Record.Log, cell.Record.Log)
	w.checkEntries(r.Key, "view", before.View, cell.View)
	return a
}

func (w *world) checkEntries(key, what string, before, after []simstore.ID) {
	if len(before) > len(after) || !slices.Equal(before, after[:len(before)]) {
		w.broke(Grows, "%s: the %s was %v and is %v", key, what, before, after)
	}
	for i, id := range after {
		if slices.Contains(after[:i], id) {
			w.broke(Once, "%s: an entry is twice in the %s %v", key, what, after)
		}
	}
}
