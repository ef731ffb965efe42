//go:build !race

// Exhaustive exploration takes one step at a time, so the race detector would find little and cost a factor of five.

package lanes_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/lanes"
)

// instances are small worlds. Each is explored with every interleaving within its limits.
func instances() []lanes.Scenario {
	three := lanes.Callers("p k a", "p k b", "p l c")
	return []lanes.Scenario{
		{Name: "two processes, a lane, two callers each", Layout: sim.LogOnly, Retries: 2, Callers: lanes.Callers("p k a", "p k b", "q k c", "q k a"),
			Limits: lanes.Limits{Preemptions: sim.Unbounded}},
		{Name: "two processes, a view, a fault", Retries: 1, Callers: lanes.Callers("p k a", "p k b", "q k a"),
			Limits: lanes.Limits{Faults: 1, Kinds: lanes.EveryFault, Preemptions: 1}},
		{Name: "two processes, a fault, a caller leaves", Layout: sim.LogOnly, Retries: 1, Callers: lanes.Callers("p k a", "p k b", "q k c"),
			Limits: lanes.Limits{Faults: 1, Kinds: lanes.Lose | lanes.Panic, Cancels: 1, Preemptions: 1}},
		{Name: "a fault, a caller leaves, a close", Layout: sim.LogOnly, Callers: lanes.Callers("p k a", "p k b"),
			Limits: lanes.Limits{Faults: 1, Kinds: lanes.EveryFault, Cancels: 1, Closes: 1, Preemptions: sim.Unbounded}},
		{Name: "callers leave", Layout: sim.LogOnly, Callers: lanes.Callers("p k a", "p k b", "p k c", "p k d"),
			Config: ferry.Config{MaxBatch: 2},
			Limits: lanes.Limits{Cancels: 2, Preemptions: sim.Unbounded}},
		{Name: "a linger and small bounds", Layout: sim.LogOnly, Callers: three,
			Config: ferry.Config{Linger: 7 * ms, MaxBatch: 2, MaxQueued: 3, MaxQueuedPerKey: 3},
			Limits: lanes.Limits{Ticks: 1, Closes: 1, Preemptions: sim.Unbounded}},
		{Name: "a linger and bounds smaller than a batch", Layout: sim.LogOnly, Callers: lanes.Callers("p k a", "p k b", "p l c", "p m d"),
			Config: ferry.Config{Linger: 7 * ms, MaxQueued: 3, MaxQueuedPerKey: 2},
			Limits: lanes.Limits{Preemptions: sim.Unbounded}},
		{Name: "a linger and callers leave", Layout: sim.LogOnly, Callers: lanes.Callers("p k a", "p k b", "p k c"),
			Config: ferry.Config{Linger: 17 * ms},
			Limits: lanes.Limits{Ticks: 2, Cancels: 1, Preemptions: sim.Unbounded}},
		{Name: "one slot", Layout: sim.LogOnly, Callers: three,
			Config: ferry.Config{MaxInFlight: 1},
			Limits: lanes.Limits{Faults: 1, Kinds: lanes.Goexit | lanes.Panic, Cancels: 1, Preemptions: sim.Unbounded}},
		{Name: "one slot, three lanes", Layout: sim.LogOnly, Callers: lanes.Callers("p k a", "p k b", "p l c", "p m d"),
			Config: ferry.Config{MaxInFlight: 1},
			Limits: lanes.Limits{Preemptions: sim.Unbounded}},
		{Name: "refused at a small bound", Layout: sim.LogOnly, Callers: lanes.Callers("p k a", "p k b", "p k c", "p l d"),
			Config: ferry.Config{MaxQueued: 2, MaxQueuedPerKey: 1},
			Limits: lanes.Limits{Preemptions: sim.Unbounded}},
		{Name: "waiting for room", Layout: sim.LogOnly, Callers: three,
			Config: ferry.Config{MaxBatch: 1, MaxQueued: 1, MaxQueuedPerKey: 1, MaxInFlight: 1, Overflow: ferry.Wait},
			Limits: lanes.Limits{Cancels: 1, Closes: 1, Preemptions: sim.Unbounded}},
		{Name: "a line of a key", Layout: sim.LogOnly, Callers: lanes.Callers("p k a", "p k b", "p k c", "p k d", "p l e"),
			Config: ferry.Config{MaxQueued: 2, MaxQueuedPerKey: 1, MaxInFlight: 1, Overflow: ferry.Wait},
			Limits: lanes.Limits{Preemptions: sim.Unbounded}},
		{Name: "waiting for a time", Layout: sim.LogOnly, Callers: lanes.Callers("p k a", "p k b", "p k c"),
			Config: ferry.Config{MaxQueued: 2, MaxQueuedPerKey: 1, Overflow: ferry.WaitUpTo(13 * ms)},
			Limits: lanes.Limits{Ticks: 2, Cancels: 1, Preemptions: sim.Unbounded}},
		{Name: "calls that do not return", Layout: sim.LogOnly, Callers: lanes.Callers("p k a", "p k b"),
			Config: ferry.Config{BatchTimeout: 7 * ms, CancelGrace: 9 * ms},
			Limits: lanes.Limits{Ticks: 3, Closes: 1, Preemptions: sim.Unbounded}},
	}
}

// TestExplore explores every instance. With -short each exploration is stopped early: that is for those who break the
// code on purpose and want to know soon whether it is noticed.
func TestExplore(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := lanes.Coverage{}
	t.Run("instances", func(t *testing.T) {
		for _, s := range instances() {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				r := explore(t, s)
				mu.Lock()
				defer mu.Unlock()
				seen.Add(r.Coverage)
			})
		}
	})
	if unseen := lanes.Unseen(seen, "p", "q"); len(unseen) > 0 && !testing.Short() {
		t.Errorf("never seen: %q", unseen)
	}
}

func explore(t *testing.T, s lanes.Scenario) (r lanes.Report) {
	t.Helper()
	search := lanes.Search{}
	if testing.Short() {
		search.MaxRuns = 1_000
	}
	began := time.Now()
	synctest.Test(t, func(*testing.T) { r = lanes.Explore(s, search) })
	t.Logf("%v, %.1f s", r, time.Since(began).Seconds())
	if r.Failure != nil {
		t.Fatalf("%v\n%v", r.Failure.Violation, r.Failure)
	}
	if !r.Complete && !testing.Short() {
		t.Fatal("the exploration is incomplete")
	}
	return r
}

// TestTheTableLosesNothing runs every history to its end, and counts as many.
func TestTheTableLosesNothing(t *testing.T) {
	t.Parallel()
	s := lanes.Scenario{Layout: sim.LogOnly, Retries: 1, Callers: lanes.Callers("p k a", "p k b", "q k c"),
		Limits: lanes.Limits{Cancels: 1, Preemptions: 1}}
	synctest.Test(t, func(t *testing.T) {
		all, cut := lanes.Explore(s, lanes.Search{NoTable: true}), lanes.Explore(s, lanes.Search{})
		if !all.Complete || float64(all.Runs) != all.Interleavings {
			t.Errorf("without the table: got %v, want a history for each interleaving", all)
		}
		if all.Interleavings != cut.Interleavings || cut.Runs >= all.Runs {
			t.Errorf("got %v, want as many interleavings and fewer runs than %v", cut, all)
		}
	})
}
