package sim

import (
	"fmt"
	"time"

	"github.com/goferry/goferry/sim/simstore"
)

// Search bounds an exploration.
type Search struct {
	// MaxRuns stops it early. 0 is no bound.
	MaxRuns int
	// OnStore, if set, is told of each record and view that a write has made, repeatedly.
	OnStore func(key string, cell simstore.Cell)
	// OnRun, if set, is told after each run how many there were and how many states they have shown.
	OnRun func(runs, states int)
}

// Report is what an exploration has found.
type Report struct {
	Scenario Scenario
	// Interleavings is the number of different histories. They were not run one by one: where two meet in one state,
	// what follows was run once.
	Interleavings float64
	// Runs is how many histories were run, most of them cut short, and States how many states they branched or ended
	// in.
	Runs, States int
	Elapsed      time.Duration
	// Complete is false if the search was stopped early, by MaxRuns or by Failure.
	Complete bool
	Coverage Coverage
	// Failure is the first run that broke a law, nil if none did.
	Failure *Trace
}

// String is one line.
func (r Report) String() string {
	l := r.Scenario.Limits
	preemptions := "any number of"
	if l.Preemptions != Unbounded {
		preemptions = fmt.Sprint(l.Preemptions)
	}
	s := fmt.Sprintf("%s: faults %d, crashes %d, cancels %d, %s preemptions: %.3g interleavings, %d runs, %d states, %.2f s",
		r.Scenario.Name, l.Faults, l.Crashes, l.Cancels, preemptions, r.Interleavings, r.Runs, r.States, r.Elapsed.Seconds())
	if !r.Complete {
		s += ", incomplete"
	}
	return s
}

// Explore makes every history of the scenario within its limits, depth first, until one breaks a law.
func Explore(s Scenario, search Search) Report {
	w := newWorld(s)
	defer w.close()
	return w.explore(search)
}

func (w *world) explore(search Search) Report {
	began := time.Now()
	w.onStore = search.OnStore
	e := &explorer{seen: map[uint64]float64{}}
	r := Report{Scenario: w.s, Coverage: w.coverage}
	for more := true; more; more = e.backtrack() {
		if search.MaxRuns > 0 && r.Runs == search.MaxRuns {
			break
		}
		e.begin()
		w.run(e)
		r.Runs++
		if search.OnRun != nil {
			search.OnRun(r.Runs, len(e.seen))
		}
		if w.violation != nil {
			r.Failure = w.again()
			break
		}
	}
	r.Complete = r.Failure == nil && len(e.path) == 0
	r.Interleavings, r.States, r.Elapsed = e.total, len(e.seen), time.Since(began)
	return r
}

// explorer is the Chooser that goes through the tree of choices depth first. It keeps no copies of states: it runs each
// history from the start, which needs no support by the code under test.
type explorer struct {
	path  []node
	depth int                // in path, of the run under way
	seen  map[uint64]float64 // the histories that start in a state, -1 while they are being counted
	leaf  float64            // the histories that the run under way stands for
	state uint64             // at the next choice
	total float64
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
	if e.depth < len(e.path) {
		return false
	}
	e.state = identity()
	histories, seen := e.seen[e.state]
	if !seen {
		e.seen[e.state] = 1 // Right if this is the end; otherwise Choose overwrites it.
		return false
	}
	if histories < 0 {
		nondeterministic("a state leads back to itself")
	}
	e.leaf = histories
	return true
}

// Choose follows the path and then takes first options.
func (e *explorer) Choose(options []Option) int {
	if e.depth == len(e.path) {
		e.seen[e.state] = -1
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

// Deepen explores with ever more faults, crashes and preemptions, up to the scenario's limits, and answers the first
// report with a failure: its trace is a smallest one, by the number of things that went wrong and then by
// preemptions. Each level is stopped after maxRuns, 0 being no bound. Without a failure it answers the last report.
func Deepen(s Scenario, maxRuns int) (r Report) {
	most := s.Limits
	for trouble := range most.Faults + most.Crashes + most.Cancels + 1 {
		for preemptions := range max(most.Preemptions, 0) + 1 {
			for _, l := range most.split(trouble) {
				l.Preemptions = preemptions
				s.Limits = l
				if r = Explore(s, Search{MaxRuns: maxRuns}); r.Failure != nil {
					return r
				}
			}
		}
	}
	return r
}

// split answers the limits with trouble things in all.
func (l Limits) split(trouble int) (all []Limits) {
	for crashes := range min(trouble, l.Crashes) + 1 {
		for cancels := range min(trouble-crashes, l.Cancels) + 1 {
			if faults := trouble - crashes - cancels; faults <= l.Faults {
				m := l
				m.Faults, m.Crashes, m.Cancels = faults, crashes, cancels
				all = append(all, m)
			}
		}
	}
	return all
}
