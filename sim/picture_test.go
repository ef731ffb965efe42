package sim_test

import (
	"strings"
	"testing"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// A broken law is drawn with everything that led to it.
func TestPicture(t *testing.T) {
	t.Parallel()
	s := variant(sim.WholeRecord, simstore.Watermark, func(s *sim.Scenario) { s.Store.Project = simstore.NoFence })
	s.Name = "the projection has no fence"
	trace := sim.Deepen(s, 0).Failure
	var page strings.Builder
	if err := trace.Picture().HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{s.Name, "Law broken: once.", "submit a", "sweep k", "project k [a]", "version 3, marker 1", "sim.Replay("} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestPictureOfTrouble(t *testing.T) {
	t.Parallel()
	trace := sim.Run(sim.Scenario{
		Processes: []sim.Process{writer("w1", "a", "b"), sweeper("s", 1)},
		Limits:    sim.Limits{Faults: 3, Kinds: sim.EveryFault, Crashes: 1, Preemptions: sim.Unbounded},
	}, sim.Script("w1 commit delayed", "w1's commit lands", "w1 crashes", "s read"))
	kinds := map[string]int{}
	for _, s := range trace.Picture().Steps {
		kinds[string(s.Kind)]++
	}
	for _, want := range []string{"read", "write", "trouble", "late", "crash"} {
		if kinds[want] == 0 {
			t.Errorf("no step is drawn as %s: %v\n%v", want, kinds, trace)
		}
	}
}
