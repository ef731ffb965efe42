//go:build !race

// Exhaustive exploration has one goroutine running at a time, so the race detector would find nothing and cost a
// factor of five.

package sim_test

import (
	"sync"
	"testing"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// instances are small worlds of one layout. Each is explored with every interleaving of up to its preemptions.
func instances(s sim.Scenario) []sim.Scenario {
	make := func(name string, retries int, l sim.Limits, processes ...sim.Process) sim.Scenario {
		i := s
		i.Name += ": " + name
		i.Retries, i.Limits, i.Processes = retries, l, processes
		if s.Layout == sim.LogOnly {
			i.Processes = processes[:2]
		}
		return i
	}
	return []sim.Scenario{
		make("one call each, a fault and a crash", 1,
			sim.Limits{Faults: 1, Kinds: usual, Crashes: 1, Preemptions: 3},
			writer("w1", "a"), writer("w2", "b"), sweeper("s", 1)),
		make("a batch of two, one of three with a rejected input", 1,
			sim.Limits{Faults: 1, Kinds: usual, Preemptions: 3},
			writer("w1", "ab"), writer("w2", "cDe"), sweeper("s", 1)),
		make("no retries, two faults", 0,
			sim.Limits{Faults: 2, Kinds: usual, Preemptions: 3},
			writer("w1", "a"), writer("w2", "b"), sweeper("s", 1)),
		make("replays, a fault and a crash", 1,
			sim.Limits{Faults: 1, Kinds: usual, Crashes: 1, Preemptions: 3},
			writer("w1", "a", "a"), writer("w2", "aa"), sweeper("s", 1)),
		make("two calls each, a fault", 1,
			sim.Limits{Faults: 1, Kinds: usual, Preemptions: 3},
			writer("w1", "a", "b"), writer("w2", "c", "d"), sweeper("s", 1)),
		make("every kind of fault", 1,
			sim.Limits{Faults: 1, Kinds: sim.EveryFault, Preemptions: 3},
			writer("w1", "a"), writer("w2", "b"), sweeper("s", 1)),
		make("a caller leaves", 1,
			sim.Limits{Cancels: 1, Faults: 1, Kinds: usual, Preemptions: 3},
			writer("w1", "a"), writer("w2", "ab"), sweeper("s", 1)),
	}
}

func worlds() []sim.Scenario {
	return []sim.Scenario{
		flags(sim.LogOnly), flags(sim.WholeRecord), watermarks(sim.WholeRecord), flags(sim.Rows), watermarks(sim.Rows),
	}
}

// TestExplore explores every instance of every world. With -short each exploration is stopped early: that is for
// those who break the code on purpose and want to know soon whether it is noticed.
func TestExplore(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[sim.Layout]sim.Coverage{sim.LogOnly: {}, sim.WholeRecord: {}, sim.Rows: {}}
	t.Run("instances", func(t *testing.T) {
		for _, world := range worlds() {
			for _, s := range instances(world) {
				t.Run(s.Name, func(t *testing.T) {
					t.Parallel()
					r := explore(t, s)
					mu.Lock()
					defer mu.Unlock()
					seen[s.Layout].Add(r.Coverage)
				})
			}
		}
	})
	if testing.Short() {
		return
	}
	for layout, coverage := range seen {
		if unseen := coverage.Unseen(layout); len(unseen) > 0 {
			t.Errorf("%v: never seen: %q", layout, unseen)
		}
	}
}

// TestExploreFull has two writers with one call each and with two, a sweeper and a fault. With -sim.full there is no
// bound on preemptions, but for two calls each with rows, which have three: a call of theirs has twice as many
// operations, and without a bound 4,000,000 runs were not the end of it.
func TestExploreFull(t *testing.T) {
	t.Parallel()
	for _, s := range worlds() {
		s.Retries = 1
		s.Limits = sim.Limits{Faults: 1, Kinds: sim.Delay, Preemptions: 1}
		one, two := s, s
		one.Name += ": one call each, a sweeper, a fault"
		two.Name += ": two calls each, a sweeper, a fault"
		one.Processes = []sim.Process{writer("w1", "a"), writer("w2", "b")}
		two.Processes = []sim.Process{writer("w1", "a", "b"), writer("w2", "c", "d")}
		if s.Layout != sim.LogOnly {
			one.Processes = append(one.Processes, sweeper("s", 1))
			two.Processes = append(two.Processes, sweeper("s", 1))
		}
		if *full {
			one.Limits.Preemptions, two.Limits.Preemptions = sim.Unbounded, sim.Unbounded
		}
		if *full && s.Layout == sim.Rows {
			two.Limits.Preemptions = 3
		}
		for _, s := range []sim.Scenario{one, two} {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				explore(t, s)
			})
		}
	}
}

// TestPartialHeal has something that stays refused for good: everything else must be finished all the same.
func TestPartialHeal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		layout sim.Layout
		broken sim.Broken
	}{
		{"a row", sim.Rows, sim.Broken{Op: simstore.Put, Row: 0}},
		{"a clear", sim.Rows, sim.Broken{Op: simstore.Clear, Key: "k"}},
		{"the rows of a key", sim.Rows, sim.Broken{Op: simstore.Missing, Key: "k"}},
		{"the view of a key", sim.WholeRecord, sim.Broken{Op: simstore.Project, Key: "k"}},
		{"a key", sim.WholeRecord, sim.Broken{Op: simstore.Read, Key: "k"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			explore(t, sim.Scenario{
				Name:   test.name,
				Layout: test.layout,
				Broken: []sim.Broken{test.broken},
				Limits: sim.Limits{Faults: 1, Kinds: usual, Crashes: 1, Preemptions: 1},
				Processes: []sim.Process{
					{Name: "w1", Calls: []sim.Call{sim.Submit("k", "ab"), sim.Submit("l", "a")}},
					{Name: "w2", Calls: []sim.Call{sim.Submit("l", "bc")}},
					{Name: "s", Calls: []sim.Call{sim.Resume("k"), sim.Resume("l")}},
				},
			})
		})
	}
}

func explore(t *testing.T, s sim.Scenario) sim.Report {
	t.Helper()
	search := sim.Search{}
	if testing.Short() {
		search.MaxRuns = 4_000
	}
	r := sim.Explore(s, search)
	t.Log(r)
	if r.Failure != nil {
		t.Fatalf("%v\n%v", r.Failure.Violation, r.Failure)
	}
	if !r.Complete && !testing.Short() {
		t.Fatal("the exploration is incomplete")
	}
	return r
}
