package lanes_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/lanes"
	"github.com/goferry/goferry/sim/simstore"
)

// TestLanesSimulation makes random histories of two processes with lanes over one store: misrouted clients that submit
// what others do, callers that leave, refusals, lost answers, panics and ends of goroutines, timeouts, and Close.
func TestLanesSimulation(t *testing.T) {
	t.Parallel()
	made, seen := 0, lanes.Coverage{}
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		rapid.SyncTest(t, func(t *rapid.T) {
			for range perScenario {
				if trace := lanes.Run(s, drawn(t), seen); trace.Violation != nil {
					t.Fatalf("%v\n%v", trace.Violation, trace)
				}
				made++
			}
		})
	})
	want := *histories
	if testing.Short() {
		want /= 5 // That is what rapid does.
	}
	if made < want { // rapid stops early, and passes, when time runs out.
		t.Errorf("made %d histories, want %d", made, want)
	}
	if unseen := lanes.Unseen(seen, "p", "q"); len(unseen) > 0 && made >= 5_000 {
		t.Errorf("never seen: %q", unseen)
	}
	t.Logf("%d histories", made)
}

// drawn is the Chooser that draws from rapid.
func drawn(t *rapid.T) lanes.Chooser {
	return lanes.ChooserFunc(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") })
}

// drawScenario draws a swarm: first what may happen at all. The simplest draws are the dullest. No duration is a multiple
// of another.
func drawScenario(t *rapid.T) lanes.Scenario {
	draw := func(what string, most int) int { return rapid.IntRange(0, most).Draw(t, what) }
	small := func(what string) int { return rapid.SampledFrom([]int{0, 1, 2, 3, 5}).Draw(t, what) }
	span := func(what string, spans ...time.Duration) time.Duration { return rapid.SampledFrom(spans).Draw(t, what) }
	s := lanes.Scenario{
		Name:    "drawn",
		Layout:  []sim.Layout{sim.LogOnly, sim.WholeRecord}[draw("view", 1)],
		Retries: draw("retries", 2),
		Config: ferry.Config{
			MaxBatch:        small("MaxBatch"),
			MaxQueued:       small("MaxQueued"),
			MaxQueuedPerKey: small("MaxQueuedPerKey"),
			MaxInFlight:     small("MaxInFlight"),
			Linger:          span("Linger", 0, 7*ms+11*time.Microsecond),
			Overflow:        ferry.Overflow(span("Overflow", 0, time.Duration(ferry.Wait), 13*ms+101*time.Microsecond)),
			BatchTimeout:    span("BatchTimeout", 0, 17*ms+977*time.Microsecond),
			CancelGrace:     5*ms + 331*time.Microsecond,
		},
		Limits: lanes.Limits{
			Faults:      draw("faults", 2),
			Kinds:       lanes.Faults(draw("kinds of fault", int(lanes.EveryFault))),
			Cancels:     draw("cancels", 2),
			Ticks:       draw("ticks", 6),
			Closes:      draw("closes", 1),
			Preemptions: draw("preemptions", 5) - 1,
		},
	}
	for range 2 + draw("more callers", 6) {
		s.Callers = append(s.Callers, lanes.Caller{
			Process: []string{"p", "q"}[draw("process", 1)],
			Key:     []string{"k", "l", "m"}[draw("key", 2)],
			ID:      simstore.ID(draw("input", 4)),
		})
	}
	return s
}
