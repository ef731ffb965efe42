package kit

import (
	"slices"
	"strings"
)

// History is what happened to one key.
type History struct {
	Key   any
	Steps []Step
	ids   []any // by their numbers
}

// Step is one thing that happened.
type Step struct {
	// Who did it.
	Who string
	// Op is an operation, or empty.
	Op  string
	IDs []any
	// Event says what was unusual.
	Event string
	// Answer is what the store said, and Answered the ids in it, nil if it has none.
	Answer   string
	Answered []any
	// Returned is what the call answered that ended after this step.
	Returned string
	// After is the store after the step.
	After State
	// Out are the writes that are still on their way.
	Out []string
}

// State is what the store has of the key: the log and the view, and how often log and marker have changed.
type State struct {
	Log, View []any
	Pending   bool
	stamp
	want []any
}

// Writes answers how many changes there have been.
func (s State) Writes() int { return s.logs + s.marks }

// Numbers answers the numbers of ids: those of the inputs that they belong to, and for others the next ones.
func (h *History) Numbers(ids []any) []int {
	ns := make([]int, len(ids))
	for i, id := range ids {
		n := slices.Index(h.ids, id)
		if n < 0 {
			n = len(h.ids)
			h.ids = append(h.ids, id)
		}
		ns[i] = n
	}
	return ns
}

// ID answers the id with a number.
func (h *History) ID(n int) any { return h.ids[n] }

func newHistory(store *Store, key any) *History {
	h := &History{Key: key}
	for n := range 5 { // All that the simulation has.
		h.ids = append(h.ids, store.ID(key, n))
	}
	return h
}

// stamp is a version of the record as far as it can be seen from outside.
type stamp struct{ logs, marks int }

// firstLine keeps a table a table.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
