package lanes_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/lanes"
	"github.com/goferry/goferry/sim/simstore"
)

// The simulation is only worth what its harness is. These tests are about the harness itself.

func TestReplayMakesTheSameTrace(t *testing.T) {
	t.Parallel()
	checked := 0
	rapid.Check(t, func(t *rapid.T) {
		if checked++; checked%10 != 0 {
			return
		}
		s := drawScenario(t)
		rapid.SyncTest(t, func(t *rapid.T) {
			want := lanes.Run(s, drawn(t), nil)
			got := lanes.Run(s, lanes.Replay(want.Schedule), nil)
			if got.String() != want.String() {
				t.Fatalf("got\n%v\nwant\n%v", got, want)
			}
		})
	})
}

func TestReplayOfAnotherScenarioIsNondeterministic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if v, ok := recover().(string); !ok || !strings.Contains(v, "nondeterministic") {
				t.Errorf("got panic %q, want it to say nondeterministic", v)
			}
		}()
		lanes.Run(lanes.Scenario{Callers: lanes.Callers("p k a", "q k b")}, lanes.Replay([]int{7}), nil)
	})
}

// A chooser that panics, as rapid's does, leaves nothing behind in the bubble, whenever it does.
func TestChooserMayPanic(t *testing.T) {
	t.Parallel()
	s := lanes.Scenario{Callers: lanes.Callers("p k a", "p k b", "q k c"), Limits: lanes.Limits{Closes: 1, Preemptions: sim.Unbounded}}
	last := func(n int) int { return n - 1 }
	second := func(n int) int { return 1 }
	synctest.Test(t, func(t *testing.T) {
		for _, choose := range []lanes.ChooserFunc{last, second} {
			for after := range 3 {
				func() {
					defer func() {
						if got := recover(); got != "enough" {
							t.Errorf("after %d choices: got panic %v, want that of the chooser", after, got)
						}
					}()
					left := after
					lanes.Run(s, lanes.ChooserFunc(func(n int) int {
						if left--; left < 0 {
							panic("enough")
						}
						return choose(n)
					}), nil)
				}()
			}
		}
	})
}

func TestScenarioMustMakeSense(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, field string
		make        func()
	}{
		{"no callers", "Scenario.Callers", func() { lanes.Run(lanes.Scenario{}, lanes.Replay(nil), nil) }},
		{"rows", "Scenario.Layout", func() {
			lanes.Run(lanes.Scenario{Layout: sim.Rows, Callers: lanes.Callers("p k a")}, lanes.Replay(nil), nil)
		}},
		{"a caller of two words", "Callers", func() { lanes.Callers("p k") }},
		{"a caller with a capital", "Callers", func() { lanes.Callers("p k A") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if v, ok := recover().(string); !ok || !strings.HasPrefix(v, "lanes: "+test.field) {
					t.Errorf("got panic %q, want one that names %s", v, test.field)
				}
			}()
			test.make()
		})
	}
}

// TestScripts has stories whose ends are known: what the callers are told, and that each step was on offer.
func TestScripts(t *testing.T) {
	t.Parallel()
	const wait = sim.Unbounded
	tests := []struct {
		name   string
		s      lanes.Scenario
		script []string
		told   []string
	}{
		{"two processes conflict", lanes.Scenario{Retries: 1, Callers: lanes.Callers("p k a", "q k b"), Limits: lanes.Limits{Preemptions: wait}},
			[]string{"p's caller k a arrives", "q's caller k b arrives", "p read k", "q read k", "q commit k", "p commit k", "p read k", "p commit k"},
			[]string{"k b: committed at 0", "k a: committed at 1"}},
		{"a panic, then another", lanes.Scenario{Callers: lanes.Callers("p k a", "p k b"), Limits: lanes.Limits{Faults: 1, Kinds: lanes.Panic, Preemptions: wait}},
			[]string{"p's caller k a arrives", "p's caller k b arrives", "p read k panics", "p read k"},
			[]string{"k a: ferry: key k: outcome unknown: panic: injected", "k b: committed at 0"}},
		{"one leaves in flight, one leaves queued", lanes.Scenario{Callers: lanes.Callers("p k a", "p k b", "p k c"), Limits: lanes.Limits{Cancels: 2, Preemptions: wait}},
			[]string{"p's caller k a arrives", "p's caller k b arrives", "p's caller k c arrives", "p's caller k a leaves", "p's caller k b leaves"},
			[]string{"k a: ferry: key k: outcome unknown: context canceled", "k b: ferry: key k: not sent: context canceled", "k c: committed at 1"}},
		{"Close gives up", lanes.Scenario{Callers: lanes.Callers("p k a", "p k b"), Config: ferry.Config{CancelGrace: ms}, Limits: lanes.Limits{Closes: 1, Ticks: 1, Preemptions: wait}},
			[]string{"p's caller k a arrives", "p's caller k b arrives", "p closes", "p's Close gives up", "time passes"},
			[]string{"k b: ferry: key k: not sent: ferry: closed", "k a: ferry: key k: outcome unknown: ferry: the call is still out"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.s.Layout = sim.LogOnly
			script := lanes.Script(test.script...)
			var trace *lanes.Trace
			synctest.Test(t, func(*testing.T) { trace = lanes.Run(test.s, script, nil) })
			var told []string
			for _, s := range trace.Steps {
				told = append(told, s.Told...)
			}
			if left := script.Left(); trace.Violation != nil || len(left) > 0 || !slices.Equal(told, test.told) {
				t.Errorf("broken %v, never on offer %q, told %q, want %q\n%v", trace.Violation, left, told, test.told, trace)
			}
		})
	}
}

// A store without fences breaks its laws although the lanes of each process keep theirs: lanes serialise one process,
// and clients are misrouted.
func TestLanesAreNoFence(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		s    lanes.Scenario
		law  lanes.Law
	}{
		{"the commit", lanes.Scenario{Layout: sim.LogOnly, Store: simstore.Rules{Commit: simstore.NoFence}}, lanes.Grows},
		{"the projection", lanes.Scenario{Store: simstore.Rules{Marker: simstore.Watermark, Project: simstore.NoFence}}, lanes.Once},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := test.s
			s.Name = test.name + " has no fence"
			s.Retries, s.Callers = 1, lanes.Callers("p k a", "q k b")
			s.Limits.Preemptions = 2
			var r lanes.Report
			synctest.Test(t, func(*testing.T) { r = lanes.Explore(s, lanes.Search{}) })
			if r.Failure == nil || r.Failure.Violation.Law != test.law {
				t.Fatalf("got %v, want the law %q broken", r.Failure, test.law)
			}
			var page strings.Builder
			if err := r.Failure.Picture().HTML(&page); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{s.Name, "Law broken: " + string(test.law), "lanes.Replay(", "sends p k [a]"} {
				if !strings.Contains(page.String(), want) {
					t.Errorf("the page lacks %q", want)
				}
			}
			s.Callers = s.Callers[:1]
			synctest.Test(t, func(*testing.T) { r = lanes.Explore(s, lanes.Search{}) })
			if r.Failure != nil {
				t.Errorf("one process alone: got\n%v\nwant no law broken", r.Failure)
			}
		})
	}
}

// The guard's own guard: a world without faults has not seen them.
func TestUnseen(t *testing.T) {
	t.Parallel()
	var r lanes.Report
	synctest.Test(t, func(*testing.T) {
		r = lanes.Explore(lanes.Scenario{Layout: sim.LogOnly, Callers: lanes.Callers("p k a", "p k b", "p k c"),
			Limits: lanes.Limits{Preemptions: sim.Unbounded}}, lanes.Search{})
	})
	unseen := lanes.Unseen(r.Coverage, "p")
	for _, want := range []string{"overloaded", "a call panicked", "linger ended by time", "conflict in p"} {
		if !slices.Contains(unseen, want) {
			t.Errorf("got %q, want it to list %q", unseen, want)
		}
	}
	if slices.Contains(unseen, "batch of more than one") {
		t.Error("batch of more than one was seen")
	}
}
