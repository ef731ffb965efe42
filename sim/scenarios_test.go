package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/gallery"
)

// TestScenarios has the situations that the two writes are there for, each by a script.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, story := range gallery.Stories() {
		t.Run(story.Name, func(t *testing.T) {
			t.Parallel()
			script := sim.Script(story.Script...)
			trace := sim.Run(story.Scenario(), script)
			if trace.Violation != nil || len(script.Left()) > 0 {
				t.Fatalf("got %v, not on offer: %q\n%v", trace.Violation, script.Left(), trace)
			}
			if got := summary(trace); !slices.Equal(got, story.Want) {
				t.Errorf("got %q, want %q\n%v", got, story.Want, trace)
			}
		})
	}
}

// summary has what the calls of the processes answered, and the view at the end.
func summary(trace *sim.Trace) (lines []string) {
	for _, c := range trace.Calls {
		if slices.ContainsFunc(trace.Scenario.Processes, func(p sim.Process) bool { return p.Name == c.Process }) {
			lines = append(lines, c.Process+": "+c.String())
		}
	}
	last := trace.Steps[len(trace.Steps)-1]
	return append(lines, fmt.Sprint(last.After[0].Cell.View))
}
