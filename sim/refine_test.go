//go:build !race

package sim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// TestRefinesSpecification holds the code against the specifications in formal: whatever it makes the store hold, TLC
// has reached on the same small instance. Only what is stored is compared and not what the processes know, so it is no
// proof of refinement; but it shows that the specification is about this code.
func TestRefinesSpecification(t *testing.T) {
	t.Parallel()
	tests := []struct {
		golden string
		world  sim.Scenario
		// leave are rules that, when switched off, must leave the set: otherwise everything is in it.
		leave []func(*simstore.Rules)
	}{
		{"whole-flag.txt", flags(sim.WholeRecord), []func(*simstore.Rules){
			func(r *simstore.Rules) { r.Project = simstore.NoFence },
			func(r *simstore.Rules) { r.Project = simstore.MarkerOnly },
			func(r *simstore.Rules) { r.Commit = simstore.NoFence },
		}},
		{"whole-watermark.txt", watermarks(sim.WholeRecord), []func(*simstore.Rules){
			func(r *simstore.Rules) { r.Project = simstore.NoFence },
			func(r *simstore.Rules) { r.CommitsBump = true },
		}},
		{"rows-flag.txt", flags(sim.Rows), []func(*simstore.Rules){
			func(r *simstore.Rules) { r.RepeatsRows = true },
			func(r *simstore.Rules) { r.Project = simstore.NoFence },
		}},
	}
	for _, test := range tests {
		t.Run(test.golden, func(t *testing.T) {
			t.Parallel()
			specified := goldenStates(t, test.golden)
			reached := storedStates(test.world)
			if outside := minus(reached, specified); len(outside) > 0 {
				t.Errorf("the specification does not reach\n%s", strings.Join(outside, "\n"))
			}
			if missing := minus(specified, reached); len(missing) > 0 {
				t.Errorf("the code does not reach\n%s", strings.Join(missing, "\n"))
			}
			for i, off := range test.leave {
				s := test.world
				off(&s.Store)
				if len(minus(storedStates(s), specified)) == 0 {
					t.Errorf("with rule %d switched off nothing is outside", i)
				}
			}
			t.Logf("%d states in the specification, %d in the code", len(specified), len(reached))
		})
	}
}

// storedStates explores the instance of the specification: two processes, a sweeper, two clients who ask once, alone or
// in one batch, at either process, one retry and one fault.
func storedStates(s sim.Scenario) map[string]bool {
	s.Retries = 1
	s.Limits = sim.Limits{Faults: 1, Kinds: usual, Preemptions: 2}
	states := map[string]bool{"ver=0 mark=0 log= view=": true}
	search := sim.Search{OnStore: func(_ string, c simstore.Cell) { states[stored(s.Layout, c)] = true }}
	for _, writers := range [][]sim.Process{
		{writer("p", "a"), writer("q", "b")},
		{writer("p", "ab")}, {writer("p", "ba")},
		{writer("p", "a", "b")}, {writer("p", "b", "a")},
	} {
		s.Processes = append(writers, sweeper("s", 2))
		sim.Explore(s, search)
	}
	return states
}

// stored is a state as formal writes it. Rows have no order.
func stored(layout sim.Layout, c simstore.Cell) string {
	view := slices.Clone(c.View)
	if layout == sim.Rows {
		slices.Sort(view)
	}
	return fmt.Sprintf("ver=%d mark=%d log=%s view=%s", c.Record.Version, c.Record.Marker, commas(c.Record.Log), commas(view))
}

func commas(ids []simstore.ID) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ",")
}

func goldenStates(t *testing.T, name string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "formal", "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		states[strings.TrimSpace(line)] = true
	}
	return states
}

func minus(a, b map[string]bool) (left []string) {
	for s := range a {
		if !b[s] {
			left = append(left, s)
		}
	}
	slices.Sort(left)
	return left
}
