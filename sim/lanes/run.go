package lanes

import (
	"fmt"
	"slices"
)

// Run makes one history of the scenario, with everything that may vary in it chosen by c, and answers its trace.
// It adds the situations that it has seen to seen, unless that is nil.
func Run(s Scenario, c Chooser, seen Coverage) *Trace {
	s = s.withDefaults()
	if seen == nil {
		seen = Coverage{}
	}
	w := newWorld(s, seen)
	w.trace = &Trace{Scenario: s}
	w.run(c)
	w.trace.Violation, w.trace.Schedule = w.violation, slices.Clone(w.schedule)
	return w.trace
}

// Replay answers a Chooser that follows a schedule, the Schedule of a [Trace], and then always takes the first
// option. It panics if the scenario does not offer what the schedule chose.
func Replay(schedule []int) Chooser {
	return ChooserFunc(func(n int) int {
		if len(schedule) == 0 {
			return 0
		}
		choice := schedule[0]
		if schedule = schedule[1:]; choice >= n {
			nondeterministic("the schedule chose option %d of %d", choice, n)
		}
		return choice
	})
}

// Script answers a Chooser that takes the options with the given descriptions, see [Option.String], one after the
// other, and then always the first. While the next one is not on offer the first option is taken.
func Script(steps ...string) *Scripted { return &Scripted{left: steps} }

// Scripted is a Chooser made by [Script].
type Scripted struct{ left []string }

// Choose takes the next step of the script if it is on offer.
func (s *Scripted) Choose(options []Option) int {
	if len(s.left) == 0 {
		return 0
	}
	at := slices.IndexFunc(options, func(o Option) bool { return o.String() == s.left[0] })
	if at < 0 {
		return 0
	}
	s.left = s.left[1:]
	return at
}

// Left answers the steps that were never on offer.
func (s *Scripted) Left() []string { return s.left }

// nondeterministic panics for the harness, or for a select in the library with two cases ready at once: it is never a
// finding about the laws.
func nondeterministic(format string, args ...any) {
	panic("lanes: nondeterministic: " + fmt.Sprintf(format, args...))
}

// Search bounds an exploration.
type Search struct {
	// MaxRuns stops it early. 0 is no bound.
	MaxRuns int
	// NoTable runs every history to its end, also where two meet in one state. It shows that nothing is lost by the
	// table of states, and costs a lot.
	NoTable bool
}

// Report is what an exploration has found.
type Report struct {
	Scenario Scenario
	// Interleavings is the number of different histories: where two meet in one state, what follows was run once.
	Interleavings float64
	// Runs is how many histories were run, most of them cut short, and States how many states they branched or ended in.
	Runs, States int
	// Complete is false if the search was stopped early, by MaxRuns or by Failure.
	Complete bool
	Coverage Coverage
	// Failure is the first history that broke a law, nil if none did.
	Failure *Trace
}

// String is one line.
func (r Report) String() string {
	s := fmt.Sprintf("%s: %.3g interleavings, %d runs, %d states", r.Scenario.Name, r.Interleavings, r.Runs, r.States)
	if !r.Complete {
		s += ", incomplete"
	}
	return s
}

// Explore makes every history of the scenario within its limits, depth first, until one breaks a law.
func Explore(s Scenario, search Search) Report {
	s = s.withDefaults()
	e := &explorer{seen: map[uint64]float64{}, noTable: search.NoTable}
	r := Report{Scenario: s, Coverage: Coverage{}}
	for more := true; more; more = e.backtrack() {
		if search.MaxRuns > 0 && r.Runs == search.MaxRuns {
			break
		}
		e.begin()
		w := newWorld(s, r.Coverage)
		w.run(e)
		r.Runs++
		if w.violation != nil {
			r.Failure = again(w)
			break
		}
	}
	r.Complete = r.Failure == nil && len(e.path) == 0
	r.Interleavings, r.States = e.total, len(e.seen)
	return r
}

// again makes a history once more, for its trace.
func again(w *world) *Trace {
	t := Run(w.s, Replay(slices.Clone(w.schedule)), nil)
	if t.Violation == nil || *t.Violation != *w.violation {
		nondeterministic("the history ended with %v, and on replay with %v", w.violation, t.Violation)
	}
	return t
}

// explorer is the Chooser that goes through the tree of choices depth first, each history from its start.
type explorer struct {
	path    []node
	depth   int                // in path, of the history under way
	seen    map[uint64]float64 // the histories that start in a state
	leaf    float64            // the histories that the one under way stands for
	state   uint64             // at the next choice
	total   float64
	noTable bool
}

// node is a choice on the way to the present.
type node struct {
	choice, options int
	state           uint64
	histories       float64 // of the choices so far
}

func (e *explorer) begin() { e.depth, e.leaf = 0, 1 }

// cut implements cutter. On the way to the last choice the states are known and under way.
func (e *explorer) cut(identity func() uint64) bool {
	if e.depth < len(e.path) || e.noTable {
		return false
	}
	e.state = identity()
	histories, seen := e.seen[e.state]
	if seen {
		e.leaf = histories
	} else {
		e.seen[e.state] = 1 // Right if this is the end; otherwise backtrack overwrites it.
	}
	return seen
}

// Choose follows the path and then takes first options.
func (e *explorer) Choose(options []Option) int {
	if len(options) == 1 {
		return 0
	}
	if e.depth == len(e.path) {
		e.path = append(e.path, node{options: len(options), state: e.state})
	}
	n := e.path[e.depth]
	if n.options != len(options) {
		nondeterministic("%d options on replay, %d before", len(options), n.options)
	}
	e.depth++
	return n.choice
}

// backtrack moves on to the next history and answers whether there is one.
func (e *explorer) backtrack() bool {
	histories := e.leaf
	for len(e.path) > 0 {
		n := &e.path[len(e.path)-1]
		n.histories += histories
		if n.choice++; n.choice < n.options {
			return true
		}
		histories = n.histories
		e.seen[n.state] = histories
		e.path = e.path[:len(e.path)-1]
	}
	e.total = histories
	return false
}
