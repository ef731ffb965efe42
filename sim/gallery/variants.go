package gallery

import (
	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// Variant is a world in which one rule is switched off: the law that notices, and the smallest counterexample, as the
// limits within which it is found and its schedule.
type Variant struct {
	Name                         string
	Scenario                     sim.Scenario
	Law                          sim.Law
	Faults, Crashes, Preemptions int
	Schedule                     []int
}

// World is the small world in which a rule is switched off.
func World(layout sim.Layout, marker simstore.Marker, change func(*sim.Scenario)) sim.Scenario {
	s := sim.Scenario{
		Layout:  layout,
		Store:   simstore.Rules{Marker: marker},
		Retries: 1,
		Limits:  sim.Limits{Faults: 2, Kinds: Usual, Crashes: 1, Preemptions: 4},
		Processes: []sim.Process{
			Writer("w1", "a", "a"), Writer("w2", "b"), Sweeper("s", 1),
		},
	}
	if layout == sim.LogOnly {
		s.Processes = s.Processes[:2]
	}
	change(&s)
	return s
}

// Variants has every rule that a store, a step or a program must keep, switched off in turn.
func Variants() []Variant {
	return []Variant{
		{
			Name:        "the commit of a FoldWrite has no fence",
			Scenario:    World(sim.LogOnly, simstore.Flag, func(s *sim.Scenario) { s.Store.Commit = simstore.NoFence }),
			Law:         sim.Grows,
			Preemptions: 1,
			Schedule:    []int{0, 1},
		},
		{
			Name:     "step applies a replay again",
			Scenario: World(sim.LogOnly, simstore.Flag, func(s *sim.Scenario) { s.Mistakes.AppliesReplays = true }),
			Law:      sim.Once,
			Schedule: []int{0, 0},
		},
		{
			Name: "step appends to the log it was given",
			Scenario: World(sim.LogOnly, simstore.Flag, func(s *sim.Scenario) {
				s.Mistakes.AppendsInPlace = true
				s.Processes = []sim.Process{Writer("w1", "a", "b"), Writer("w2", "c")}
			}),
			Law:         sim.Truth,
			Preemptions: 2,
			Schedule:    []int{0, 0, 0, 1, 1},
		},
		{
			Name:        "watermark: the projection has no fence",
			Scenario:    World(sim.WholeRecord, simstore.Watermark, func(s *sim.Scenario) { s.Store.Project = simstore.NoFence }),
			Law:         sim.Once,
			Preemptions: 1,
			Schedule:    []int{0, 0, 0, 0, 0, 0, 1},
		},
		{
			Name: "watermark: the projection is fenced on the version only, which it does not advance",
			Scenario: World(sim.WholeRecord, simstore.Watermark, func(s *sim.Scenario) {
				s.Store.Project, s.Store.CommitsBump = simstore.VersionOnly, true
			}),
			Law:         sim.Once,
			Preemptions: 1,
			Schedule:    []int{0, 0, 0, 0, 0, 0, 1},
		},
		{
			Name: "watermark: the commit writes back the marker it read, and is fenced on the version only",
			Scenario: World(sim.WholeRecord, simstore.Watermark, func(s *sim.Scenario) {
				s.Store.Commit, s.Store.CommitsBump, s.Store.RewindsMarker = simstore.VersionOnly, true, true
			}),
			Law:         sim.Once,
			Preemptions: 2,
			Schedule:    []int{0, 0, 1, 1, 0, 0},
		},
		{
			Name:        "flag: the projection is fenced on the marker only",
			Scenario:    World(sim.WholeRecord, simstore.Flag, func(s *sim.Scenario) { s.Store.Project = simstore.MarkerOnly }),
			Law:         sim.HonestMarker,
			Preemptions: 2,
			Schedule:    []int{0, 0, 1, 0, 1},
		},
		{
			Name:        "flag: the projection has no fence",
			Scenario:    World(sim.WholeRecord, simstore.Flag, func(s *sim.Scenario) { s.Store.Project = simstore.NoFence }),
			Law:         sim.Grows,
			Preemptions: 1,
			Schedule:    []int{0, 0, 1, 0},
		},
		{
			Name:        "the commit has no fence",
			Scenario:    World(sim.WholeRecord, simstore.Flag, func(s *sim.Scenario) { s.Store.Commit = simstore.NoFence }),
			Law:         sim.Grows,
			Preemptions: 1,
			Schedule:    []int{0, 1, 0},
		},
		{
			Name:     "answers projected straight after the commit",
			Scenario: World(sim.WholeRecord, simstore.Flag, func(s *sim.Scenario) { s.Mistakes.AnswersEarly = true }),
			Law:      sim.Truth,
			Schedule: []int{0},
		},
		{
			Name:     "nobody sweeps",
			Scenario: World(sim.WholeRecord, simstore.Flag, func(s *sim.Scenario) { s.Mistakes.NoSweeper, s.Processes = true, s.Processes[:2] }),
			Law:      sim.Finished,
			Crashes:  1,
			Schedule: []int{0, 0, 0, 0, 0, 1},
		},
		{
			Name:        "rows are written unconditionally",
			Scenario:    World(sim.Rows, simstore.Flag, func(s *sim.Scenario) { s.Store.RepeatsRows = true }),
			Law:         sim.Once,
			Preemptions: 1,
			Schedule:    []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
		},
		{
			Name:     "the clear does not wait for every row",
			Scenario: World(sim.Rows, simstore.Flag, func(s *sim.Scenario) { s.Mistakes.ClearsEarly = true }),
			Law:      sim.HonestMarker,
			Faults:   1,
			Schedule: []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
		},
		{
			Name:        "the clear has no fence",
			Scenario:    World(sim.Rows, simstore.Flag, func(s *sim.Scenario) { s.Store.Project = simstore.NoFence }),
			Law:         sim.HonestMarker,
			Preemptions: 2,
			Schedule:    []int{0, 0, 0, 0, 1, 0, 0, 1},
		},
		{
			Name:        "the clear is fenced on the marker only",
			Scenario:    World(sim.Rows, simstore.Flag, func(s *sim.Scenario) { s.Store.Project = simstore.MarkerOnly }),
			Law:         sim.HonestMarker,
			Preemptions: 2,
			Schedule:    []int{0, 0, 0, 0, 1, 0, 0, 1},
		},
		{
			Name:     "nobody sweeps rows",
			Scenario: World(sim.Rows, simstore.Flag, func(s *sim.Scenario) { s.Mistakes.NoSweeper, s.Processes = true, s.Processes[:2] }),
			Law:      sim.Finished,
			Faults:   1,
			Schedule: []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
		},
	}
}
