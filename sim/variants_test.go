package sim_test

import (
	"slices"
	"testing"

	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// variant is the small world in which a rule is switched off.
func variant(layout sim.Layout, marker simstore.Marker, change func(*sim.Scenario)) sim.Scenario {
	s := sim.Scenario{
		Layout:  layout,
		Store:   simstore.Rules{Marker: marker},
		Retries: 1,
		Limits:  sim.Limits{Faults: 2, Kinds: usual, Crashes: 1, Preemptions: 4},
		Processes: []sim.Process{
			writer("w1", "a", "a"), writer("w2", "b"), sweeper("s", 1),
		},
	}
	if layout == sim.LogOnly {
		s.Processes = s.Processes[:2]
	}
	change(&s)
	return s
}

// switchedOff has every rule that a store, a step or a program must keep, switched off in turn: the law that notices,
// and the smallest counterexample, as the limits within which it was found and its schedule.
var switchedOff = []struct {
	name     string
	scenario sim.Scenario
	law      sim.Law
	// The counterexample.
	faults, crashes, preemptions int
	schedule                     []int
}{
	{
		name:        "the commit of a FoldWrite has no fence",
		scenario:    variant(sim.LogOnly, simstore.Flag, func(s *sim.Scenario) { s.Store.Commit = simstore.NoFence }),
		law:         sim.Grows,
		preemptions: 1,
		schedule:    []int{0, 1},
	},
	{
		name:     "step applies a replay again",
		scenario: variant(sim.LogOnly, simstore.Flag, func(s *sim.Scenario) { s.Mistakes.AppliesReplays = true }),
		law:      sim.Once,
		schedule: []int{0, 0},
	},
	{
		name: "step appends to the log it was given",
		scenario: variant(sim.LogOnly, simstore.Flag, func(s *sim.Scenario) {
			s.Mistakes.AppendsInPlace = true
			s.Processes = []sim.Process{writer("w1", "a", "b"), writer("w2", "c")}
		}),
		law:         sim.Truth,
		preemptions: 2,
		schedule:    []int{0, 0, 0, 1, 1},
	},
	{
		name:        "watermark: the projection has no fence",
		scenario:    variant(sim.WholeRecord, simstore.Watermark, func(s *sim.Scenario) { s.Store.Project = simstore.NoFence }),
		law:         sim.Once,
		preemptions: 1,
		schedule:    []int{0, 0, 0, 0, 0, 0, 1},
	},
	{
		name: "watermark: the projection is fenced on the version only, which it does not advance",
		scenario: variant(sim.WholeRecord, simstore.Watermark, func(s *sim.Scenario) {
			s.Store.Project, s.Store.CommitsBump = simstore.VersionOnly, true
		}),
		law:         sim.Once,
		preemptions: 1,
		schedule:    []int{0, 0, 0, 0, 0, 0, 1},
	},
	{
		name: "watermark: the commit writes back the marker it read, and is fenced on the version only",
		scenario: variant(sim.WholeRecord, simstore.Watermark, func(s *sim.Scenario) {
			s.Store.Commit, s.Store.CommitsBump, s.Store.RewindsMarker = simstore.VersionOnly, true, true
		}),
		law:         sim.Once,
		preemptions: 2,
		schedule:    []int{0, 0, 1, 1, 0, 0},
	},
	{
		name:        "flag: the projection is fenced on the marker only",
		scenario:    variant(sim.WholeRecord, simstore.Flag, func(s *sim.Scenario) { s.Store.Project = simstore.MarkerOnly }),
		law:         sim.HonestMarker,
		preemptions: 2,
		schedule:    []int{0, 0, 1, 0, 1},
	},
	{
		name:        "flag: the projection has no fence",
		scenario:    variant(sim.WholeRecord, simstore.Flag, func(s *sim.Scenario) { s.Store.Project = simstore.NoFence }),
		law:         sim.Grows,
		preemptions: 1,
		schedule:    []int{0, 0, 1, 0},
	},
	{
		name:        "the commit has no fence",
		scenario:    variant(sim.WholeRecord, simstore.Flag, func(s *sim.Scenario) { s.Store.Commit = simstore.NoFence }),
		law:         sim.Grows,
		preemptions: 1,
		schedule:    []int{0, 1, 0},
	},
	{
		name:     "answers projected straight after the commit",
		scenario: variant(sim.WholeRecord, simstore.Flag, func(s *sim.Scenario) { s.Mistakes.AnswersEarly = true }),
		law:      sim.Truth,
		schedule: []int{0},
	},
	{
		name:     "nobody sweeps",
		scenario: variant(sim.WholeRecord, simstore.Flag, func(s *sim.Scenario) { s.Mistakes.NoSweeper, s.Processes = true, s.Processes[:2] }),
		law:      sim.Finished,
		crashes:  1,
		schedule: []int{0, 0, 0, 0, 0, 1},
	},
	{
		name:        "rows are written unconditionally",
		scenario:    variant(sim.Rows, simstore.Flag, func(s *sim.Scenario) { s.Store.RepeatsRows = true }),
		law:         sim.Once,
		preemptions: 1,
		schedule:    []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
	},
	{
		name:     "the clear does not wait for every row",
		scenario: variant(sim.Rows, simstore.Flag, func(s *sim.Scenario) { s.Mistakes.ClearsEarly = true }),
		law:      sim.HonestMarker,
		faults:   1,
		schedule: []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
	},
	{
		name:        "the clear has no fence",
		scenario:    variant(sim.Rows, simstore.Flag, func(s *sim.Scenario) { s.Store.Project = simstore.NoFence }),
		law:         sim.HonestMarker,
		preemptions: 2,
		schedule:    []int{0, 0, 0, 0, 1, 0, 0, 1},
	},
	{
		name:        "the clear is fenced on the marker only",
		scenario:    variant(sim.Rows, simstore.Flag, func(s *sim.Scenario) { s.Store.Project = simstore.MarkerOnly }),
		law:         sim.HonestMarker,
		preemptions: 2,
		schedule:    []int{0, 0, 0, 0, 1, 0, 0, 1},
	},
	{
		name:     "nobody sweeps rows",
		scenario: variant(sim.Rows, simstore.Flag, func(s *sim.Scenario) { s.Mistakes.NoSweeper, s.Processes = true, s.Processes[:2] }),
		law:      sim.Finished,
		faults:   1,
		schedule: []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
	},
}

// TestSwitchedOff replays the counterexamples.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, v := range switchedOff {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := v.scenario
			s.Limits.Faults, s.Limits.Crashes, s.Limits.Preemptions = v.faults, v.crashes, v.preemptions
			trace := sim.Run(s, sim.Replay(v.schedule))
			if trace.Violation == nil || trace.Violation.Law != v.law {
				t.Errorf("got %v, want law %q broken\n%v", trace.Violation, v.law, trace)
			}
		})
	}
}

// TestSmallestCounterexamples finds them again.
func TestSmallestCounterexamples(t *testing.T) {
	t.Parallel()
	for _, v := range switchedOff {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			r := sim.Deepen(v.scenario, 400_000)
			if r.Failure == nil {
				t.Fatalf("no law broken: %v", r)
			}
			l := r.Scenario.Limits
			if r.Failure.Violation.Law != v.law || !slices.Equal(r.Failure.Schedule, v.schedule) ||
				l.Faults != v.faults || l.Crashes != v.crashes || l.Preemptions != v.preemptions {
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
