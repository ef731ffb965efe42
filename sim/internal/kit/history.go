package kit

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// History is what happened to one key.
type History struct {
	Key   any
	Steps []Step
	ids   map[any]int
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
	// Answer is what the store said.
	Answer string
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

// Number numbers the ids of the history in the order of their first appearance.
func (h *History) Number(ids []any) []int {
	var ns []int
	for _, id := range ids {
		n, ok := h.ids[id]
		if !ok {
			n = len(h.ids)
			h.ids[id] = n
		}
		ns = append(ns, n)
	}
	return ns
}

// Letters yields the ids that were numbered, in their order.
func (h *History) Letters() iter.Seq2[any, int] {
	return func(yield func(any, int) bool) {
		ids := slices.SortedFunc(maps.Keys(h.ids), func(a, b any) int { return h.ids[a] - h.ids[b] })
		for n, id := range ids {
			if !yield(id, n) {
				return
			}
		}
	}
}

func newHistory(key any) *History { return &History{Key: key, ids: map[any]int{}} }

// stamp is a version of the record as far as it can be seen from outside.
type stamp struct{ logs, marks int }

// firstLine keeps a table a table.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
