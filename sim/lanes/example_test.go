package lanes_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/lanes"
)

// Two processes are sent inputs for one key, and while a batch is out the next one forms.
func ExampleExplore() {
	inBubble(func() {
		report := lanes.Explore(lanes.Scenario{
			Layout:  sim.LogOnly,
			Callers: lanes.Callers("p k a", "p k b", "q k c"),
			Retries: 1,
			Limits:  lanes.Limits{Preemptions: sim.Unbounded},
		}, lanes.Search{})
		fmt.Println("complete:", report.Complete)
		fmt.Println("broken:", report.Failure)
	})
	// Output:
	// complete: true
	// broken: <nil>
}

// A script names the steps that matter.
func ExampleScript() {
	inBubble(func() {
		trace := lanes.Run(lanes.Scenario{
			Layout:  sim.LogOnly,
			Callers: lanes.Callers("p k a", "p k b", "p k c"),
			Limits:  lanes.Limits{Faults: 1, Kinds: lanes.Goexit, Preemptions: sim.Unbounded},
		}, lanes.Script("p's caller k a arrives", "p's caller k b arrives", "p's caller k c arrives", "p read k ends its goroutine"), nil)
		_ = trace.Print(os.Stdout)
	})
	// Output:
	// #  step                         answer  calls      store                   told
	// 1  p's caller k a arrives               p k [a]    k v0 log [] view []
	// 2  p's caller k b arrives                          k v0 log [] view []
	// 3  p's caller k c arrives                          k v0 log [] view []
	// 4  p read k ends its goroutine          p k [b c]  k v0 log [] view []     k a: ferry: key k: outcome unknown: ferry: the call ended its goroutine
	// 5  p read k                     []                 k v0 log [] view []
	// 6  p commit k                   [b c]              k v1 log [b c] view []  k b: committed at 0; k c: committed at 1
	// 7  p closes                                        k v1 log [b c] view []
	// schedule: []int{1, 1, 1}
}

// inBubble makes a bubble for an example. That takes a test, which must run once and not print anything of its own.
func inBubble(f func()) {
	for name, value := range map[string]string{"test.v": "false", "test.count": "1"} {
		was := flag.Lookup(name).Value.String()
		_ = flag.Set(name, value)
		defer func() { _ = flag.Set(name, was) }()
	}
	testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "bubble", F: func(t *testing.T) { synctest.Test(t, func(*testing.T) { f() }) },
	}})
}
