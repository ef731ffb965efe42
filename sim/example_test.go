package sim_test

import (
	"fmt"
	"os"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// Two processes are sent batches for one key while a sweeper visits it, and any one operation may meet a fault.
func ExampleExplore() {
	report := sim.Explore(sim.Scenario{
		Processes: []sim.Process{
			{Name: "w1", Calls: []sim.Call{sim.Submit("k", "a")}},
			{Name: "w2", Calls: []sim.Call{sim.Submit("k", "b")}},
			{Name: "s", Calls: []sim.Call{sim.Resume("k")}},
		},
		Retries: 1,
		Limits:  sim.Limits{Faults: 1, Kinds: sim.FailRead | sim.Delay, Preemptions: 2},
	}, sim.Search{})
	fmt.Println("complete:", report.Complete)
	fmt.Println("broken:", report.Failure)
	// Output:
	// complete: true
	// broken: <nil>
}

// Without the projection's fence an entry is projected twice.
func ExampleDeepen() {
	report := sim.Deepen(sim.Scenario{
		Store: simstore.Rules{Marker: simstore.Watermark, Project: simstore.NoFence},
		Processes: []sim.Process{
			{Name: "w", Calls: []sim.Call{sim.Submit("k", "a")}},
			{Name: "s", Calls: []sim.Call{sim.Resume("k")}},
		},
		Limits: sim.Limits{Preemptions: 3},
	}, 0)
	if err := report.Failure.Print(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// #  process  does           answer     store
	// 1  w        read k         v0 m0 []   k v0 m0 log [] view []
	// 2  w        commit k [a]   v1 m0 [a]  k v1 m0 log [a] view []
	// 3  s        read k         v1 m0 [a]  k v1 m0 log [a] view []
	// 4  s        project k [a]  done       k v2 m1 log [a] view [a]; s returns: nothing pending
	// 5  w        project k [a]  done       k v3 m1 log [a] view [a a]; w returns: a projected
	// sim: law "once" broken: k: an entry is twice in the view [a a]
	// schedule: []int{0, 0, 1}
}

// A script names the steps that matter.
func ExampleScript() {
	trace := sim.Run(sim.Scenario{
		Layout: sim.Rows,
		Processes: []sim.Process{
			{Name: "w", Calls: []sim.Call{sim.Submit("k", "abc")}},
			{Name: "s", Calls: []sim.Call{sim.Resume("k")}},
		},
		Limits: sim.Limits{Faults: 1, Kinds: sim.Refuse},
	}, sim.Script("w put b refused"))
	for _, call := range trace.Calls {
		fmt.Printf("%s: %v\n", call.Process, call)
	}
	// Output:
	// w: a projected, b committed, c projected
	// s: nothing pending
	// the last sweeper: nothing pending
}
