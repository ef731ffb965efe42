package sim_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// TestProjectedWriterSimulation makes random histories of several processes and sweepers with a view of one object per
// record: throttling, outages, lost and late writes, panics, misrouted clients, resubmissions, leaving callers and
// crashes.
func TestProjectedWriterSimulation(t *testing.T) {
	t.Parallel()
	simulate(t, sim.WholeRecord)
}

// TestPartialProjectionSimulation is the same for a view of one row per entry, with throttled, lost and late rows,
// refused clears and crashes between two rows.
func TestPartialProjectionSimulation(t *testing.T) {
	t.Parallel()
	simulate(t, sim.Rows)
}

// TestFoldWriteSimulation is the same without a view.
func TestFoldWriteSimulation(t *testing.T) {
	t.Parallel()
	simulate(t, sim.LogOnly)
}

func simulate(t *testing.T, layout sim.Layout) {
	made, seen := 0, sim.Coverage{}
	rapid.Check(t, func(t *rapid.T) {
		c := sim.NewChecker(drawScenario(t, layout))
		defer c.Close()
		for range perScenario {
			if v := c.Check(drawn(t)); v != nil {
				t.Fatalf("%v\n%v", v, c.Trace())
			}
			made++
		}
		seen.Add(c.Coverage())
	})
	enough(t, made, *histories)
	if unseen := seen.Unseen(layout); len(unseen) > 0 {
		t.Errorf("never seen: %q", unseen)
	}
	t.Logf("%d histories", made)
}

// enough wants the histories to have been made that were asked for: rapid stops early, and passes, when time runs out.
func enough(t *testing.T, made, want int) {
	t.Helper()
	if testing.Short() {
		want /= 5 // That is what rapid does.
	}
	if made < want {
		t.Errorf("made %d histories, want %d", made, want)
	}
}

// drawn is the Chooser that draws from rapid.
func drawn(t *rapid.T) sim.Chooser {
	return sim.ChooserFunc(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") })
}

// drawScenario draws a swarm: first what may happen at all in this history, so that some histories are all crashes and
// others all outages. The simplest draws are the dullest.
func drawScenario(t *rapid.T, layout sim.Layout) sim.Scenario {
	draw := func(what string, most int) int { return rapid.IntRange(0, most).Draw(t, what) }
	s := sim.Scenario{
		Name:    layout.String(),
		Layout:  layout,
		Store:   simstore.Rules{Marker: simstore.Marker(draw("marker", 1))},
		Retries: draw("retries", 3),
		Limits: sim.Limits{
			Faults:      draw("faults", 3),
			Kinds:       sim.Faults(draw("kinds of fault", int(sim.EveryFault))),
			Crashes:     draw("crashes", 2),
			Cancels:     draw("cancels", 1),
			Preemptions: draw("preemptions", 5) - 1,
		},
	}
	keys := []string{"k", "l"}[:1+draw("second key", 1)]
	key := func() string { return keys[draw("key", len(keys)-1)] }
	for _, name := range []string{"w1", "w2", "w3"}[:1+draw("more writers", 2)] {
		p := sim.Process{Name: name}
		for range 1 + draw("more calls", 2) {
			// Any process may be given any key and any id: clients are misrouted and ask again. E is always rejected.
			batch := rapid.StringOfN(rapid.RuneFrom([]rune("abcdE")), 1, 3, -1).Draw(t, "batch")
			p.Calls = append(p.Calls, sim.Submit(key(), batch))
		}
		s.Processes = append(s.Processes, p)
	}
	sweepers := 0
	if layout != sim.LogOnly {
		sweepers = draw("sweepers", 2)
	}
	for _, name := range []string{"s1", "s2"}[:sweepers] {
		s.Processes = append(s.Processes, sim.Process{Name: name, Calls: []sim.Call{sim.Resume(key()), sim.Resume(key())}})
	}
	switch draw("broken", 9) {
	case 8:
		s.Broken = []sim.Broken{{Op: simstore.Put, Key: "k", Row: simstore.ID(draw("row", 3))}}
	case 9:
		s.Broken = []sim.Broken{{Op: simstore.Op(draw("operation", int(simstore.Clear))), Key: "k"}}
	}
	return s
}
