package sim_test

import (
	"slices"
	"testing"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/gallery"
	"github.com/goferry/goferry/sim/simstore"
)

// variant is the small world in which a rule is switched off.
func variant(layout sim.Layout, marker simstore.Marker, change func(*sim.Scenario)) sim.Scenario {
	return gallery.World(layout, marker, change)
}

// TestSwitchedOff replays the counterexamples.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, v := range gallery.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			s := v.Scenario
			s.Limits.Faults, s.Limits.Crashes, s.Limits.Preemptions = v.Faults, v.Crashes, v.Preemptions
			trace := sim.Run(s, sim.Replay(v.Schedule))
			if trace.Violation == nil || trace.Violation.Law != v.Law {
				t.Errorf("got %v, want law %q broken\n%v", trace.Violation, v.Law, trace)
			}
		})
	}
}

// TestSmallestCounterexamples finds them again.
func TestSmallestCounterexamples(t *testing.T) {
	t.Parallel()
	for _, v := range gallery.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			r := sim.Deepen(v.Scenario, 400_000)
			if r.Failure == nil {
				t.Fatalf("no law broken: %v", r)
			}
			l := r.Scenario.Limits
			if r.Failure.Violation.Law != v.Law || !slices.Equal(r.Failure.Schedule, v.Schedule) ||
				l.Faults != v.Faults || l.Crashes != v.Crashes || l.Preemptions != v.Preemptions {
				t.Errorf("got law %q with\n\t\tfaults: %d, crashes: %d, preemptions: %d,\n\t\tschedule: %#v,\n%v",
					r.Failure.Violation.Law, l.Faults, l.Crashes, l.Preemptions, r.Failure.Schedule, r.Failure)
			}
		})
	}
}

// TestRedundantRules has variants that look dangerous and are not. That they pass shows that the ones above fail for
// their own reasons.
func TestRedundantRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		scenario sim.Scenario
	}{
		{"watermark: the projection is fenced on the marker only", variant(sim.WholeRecord, simstore.Watermark,
			func(s *sim.Scenario) { s.Store.Project = simstore.MarkerOnly })},
		{"watermark: the projection is fenced on the version only, which every write advances", variant(sim.WholeRecord,
			simstore.Watermark, func(s *sim.Scenario) { s.Store.Project = simstore.VersionOnly })},
		{"watermark: only commits advance the version", variant(sim.WholeRecord, simstore.Watermark,
			func(s *sim.Scenario) { s.Store.CommitsBump = true })},
		{"watermark: the commit writes back the marker it read, and is fenced on it", variant(sim.WholeRecord,
			simstore.Watermark, func(s *sim.Scenario) { s.Store.CommitsBump, s.Store.RewindsMarker = true, true })},
		{"flag: the projection is fenced on the version only", variant(sim.WholeRecord, simstore.Flag,
			func(s *sim.Scenario) { s.Store.Project, s.Store.CommitsBump = simstore.VersionOnly, true })},
		{"rows: the clear is fenced on the version only", variant(sim.Rows, simstore.Flag,
			func(s *sim.Scenario) { s.Store.Project, s.Store.CommitsBump = simstore.VersionOnly, true })},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := test.scenario
			s.Limits.Faults, s.Limits.Crashes, s.Limits.Preemptions = 1, 0, 2
			if r := sim.Explore(s, sim.Search{}); r.Failure != nil {
				t.Errorf("%v\n%v", r.Failure.Violation, r.Failure)
			}
		})
	}
}
