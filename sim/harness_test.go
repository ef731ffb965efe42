package sim_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/gallery"
)

// The simulation is only worth what its harness is. These tests are about the harness itself.

func TestReplayMakesTheSameTrace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t, sim.Rows)
		want := sim.Run(s, drawn(t))
		got := sim.Run(s, sim.Replay(want.Schedule))
		if got.String() != want.String() {
			t.Fatalf("got\n%v\nwant\n%v", got, want)
		}
		if !reflect.DeepEqual(got.Schedule, want.Schedule) {
			t.Fatalf("got %v, want %v", got.Schedule, want.Schedule)
		}
	})
}

func TestReplayOfAnotherScenarioIsNondeterministic(t *testing.T) {
	t.Parallel()
	defer func() {
		if v, ok := recover().(string); !ok || !strings.Contains(v, "nondeterministic") {
			t.Errorf("got panic %q, want it to say nondeterministic", v)
		}
	}()
	s := flags(sim.WholeRecord)
	s.Processes = []sim.Process{writer("w1", "a"), writer("w2", "b")}
	sim.Run(s, sim.Replay([]int{7}))
}

// TestExploreCounts compares the exploration with an enumeration that knows no states.
func TestExploreCounts(t *testing.T) {
	t.Parallel()
	for _, layout := range []sim.Layout{sim.LogOnly, sim.WholeRecord, sim.Rows} {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			s := flags(layout)
			s.Processes = []sim.Process{writer("w1", "a"), writer("w2", "b")}
			s.Limits = sim.Limits{Faults: 1, Kinds: sim.Delay, Preemptions: 2}
			want := 0.0
			for c := (&counting{}); ; want++ {
				c.depth = 0
				if v := sim.Run(s, c).Violation; v != nil {
					t.Fatal(v)
				}
				if !c.advance() {
					want++
					break
				}
			}
			if got := sim.Explore(s, sim.Search{}).Interleavings; got != want {
				t.Errorf("got %v interleavings, want %v", got, want)
			}
		})
	}
}

// counting goes through all choices like an odometer.
type counting struct {
	choices, options []int
	depth            int
}

func (c *counting) Choose(options []sim.Option) int {
	if c.depth == len(c.choices) {
		c.choices, c.options = append(c.choices, 0), append(c.options, len(options))
	}
	c.depth++
	return c.choices[c.depth-1]
}

func (c *counting) advance() bool {
	for i := len(c.choices) - 1; i >= 0; i-- {
		if c.choices[i]++; c.choices[i] < c.options[i] {
			c.choices, c.options = c.choices[:i+1], c.options[:i+1]
			return true
		}
	}
	return false
}

// TestChooserMayPanic abandons a run, as rapid does, and uses the world again.
func TestChooserMayPanic(t *testing.T) {
	t.Parallel()
	s := flags(sim.WholeRecord)
	s.Processes = []sim.Process{writer("w1", "a"), writer("w2", "b")}
	s.Limits.Preemptions = sim.Unbounded
	c := sim.NewChecker(s)
	defer c.Close()
	for after := range 4 {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the panic after %d choices did not come through", after)
				}
			}()
			c.Check(sim.ChooserFunc(func(n int) int {
				if after--; after < 0 {
					panic("enough")
				}
				return n - 1
			}))
		}()
	}
	if v := c.Check(sim.Replay(nil)); v != nil {
		t.Errorf("got %v, want no law broken", v)
	}
}

func TestScenarioMustMakeSense(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		s    sim.Scenario
	}{
		{"no processes", sim.Scenario{}},
		{"nothing to resume", sim.Scenario{Layout: sim.LogOnly, Processes: []sim.Process{sweeper("s", 1)}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if v, ok := recover().(string); !ok || !strings.HasPrefix(v, "sim: Scenario.Processes") {
					t.Errorf("got panic %q, want one that names the field", v)
				}
			}()
			sim.NewChecker(test.s)
		})
	}
}

func TestScriptSaysWhatWasNotOnOffer(t *testing.T) {
	t.Parallel()
	s := flags(sim.WholeRecord)
	s.Processes = []sim.Process{writer("w1", "a"), writer("w2", "b")}
	script := sim.Script("w2 read", "w3 read", "w1 read")
	sim.Run(s, script)
	if got, want := script.Left(), []string{"w3 read", "w1 read"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnseen is the guard's own guard: a world without faults has not seen them.
func TestUnseen(t *testing.T) {
	t.Parallel()
	s := flags(sim.WholeRecord)
	s.Processes = []sim.Process{writer("w1", "a")}
	unseen := sim.Explore(s, sim.Search{}).Coverage.Unseen(sim.WholeRecord)
	for _, want := range []string{"commit delayed", "read fails", "project conflict", "crash at commit", "replay found pending"} {
		if !slices.Contains(unseen, want) {
			t.Errorf("got %q, want it to list %q", unseen, want)
		}
	}
	if slices.Contains(unseen, "answer projected") {
		t.Error("answer projected was seen")
	}
}

// TestRandomHistoriesNotice has every rule that is switched off noticed by chance alone, too.
func TestRandomHistoriesNotice(t *testing.T) {
	t.Parallel()
	const seed, enough = 1, 100_000
	for _, v := range gallery.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 0))
			c := sim.NewChecker(v.Scenario)
			defer c.Close()
			for n := range enough {
				if broken := c.Check(sim.ChooserFunc(rng.IntN)); broken != nil {
					t.Logf("seed %d, history %d: %v", seed, n+1, broken)
					return
				}
			}
			t.Errorf("seed %d: nothing noticed in %d histories", seed, enough)
		})
	}
}

// FuzzHistories lets the fuzzer choose: go test ./sim -fuzz FuzzHistories -fuzzminimizetime 1x.
func FuzzHistories(f *testing.F) {
	s := flags(sim.Rows)
	s.Retries = 1
	s.Limits = sim.Limits{Faults: 3, Kinds: sim.EveryFault, Crashes: 2, Cancels: 1, Preemptions: sim.Unbounded}
	s.Processes = []sim.Process{writer("w1", "ab", "a"), writer("w2", "c", "bD"), sweeper("s", 2)}
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Fuzz(func(t *testing.T, choices []byte) {
		if trace := sim.Run(s, sim.Bytes(choices)); trace.Violation != nil {
			t.Fatalf("%v\n%v", trace.Violation, trace)
		}
	})
}
