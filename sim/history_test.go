package sim_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// TestLinearizable checks whole histories against the order of real time, which the laws of states and answers say
// nothing of: a query that begins after an input was answered Projected must see it, and positions are those of some
// order in which the calls may have happened.
//
// A call that failed, or whose process crashed, is an operation that never returns: it may still happen at any time.
// So is the projection of an input that was answered Committed.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	made, queried := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		layout := rapid.SampledFrom([]sim.Layout{sim.WholeRecord, sim.Rows}).Draw(t, "layout")
		s := drawScenario(t, layout)
		s.Processes = append(s.Processes, sim.Process{Name: "q", Calls: slices.Repeat([]sim.Call{sim.Look("k")}, 3)})
		trace := sim.Run(s, drawn(t))
		if trace.Violation != nil {
			t.Fatalf("%v\n%v", trace.Violation, trace)
		}
		logs, views := operations(trace, "k")
		if !porcupine.CheckOperations(logModel, logs) {
			t.Fatalf("no order of the calls explains their positions\n%v", trace)
		}
		if !porcupine.CheckOperations(viewModel, views) {
			t.Fatalf("no order of the projections explains the views\n%v", trace)
		}
		made++
		queried += len(views)
	})
	enough(t, made, *histories/perScenario)
	t.Logf("%d histories, %d operations on views", made, queried)
}

// operations makes what porcupine needs of a trace: the log and the view of key, each as an object of its own.
func operations(trace *sim.Trace, key string) (logs, views []porcupine.Operation) {
	for i, c := range trace.Calls {
		if c.Call.Key != key {
			continue
		}
		add := func(to *[]porcupine.Operation, in, out any, ended int) {
			end := int64(ended)
			if ended == 0 {
				end = math.MaxInt64
			}
			*to = append(*to, porcupine.Operation{ClientId: i, Input: in, Call: int64(c.Began), Output: out, Return: end})
		}
		if c.Call.Look {
			add(&logs, nil, c.Log, c.Ended)
			add(&views, nil, c.View, c.Ended)
			continue
		}
		returned := c.Ended
		if c.Err != nil {
			returned = 0
		}
		var ids, positions []simstore.ID
		for j, in := range c.Call.Inputs {
			if in.Reject {
				continue
			}
			ids = append(ids, in.ID)
			shown := 0
			if returned > 0 {
				positions = append(positions, simstore.ID(c.Outcomes[j].Result))
				if c.Outcomes[j].Status == projected.Projected {
					shown = returned
				}
			}
			add(&views, in.ID, nil, shown)
		}
		add(&logs, ids, positions, returned)
	}
	return logs, views
}

// logModel is the log as a string. An input is the ids of a batch and its output their positions, or nil for a look
// and the log.
var logModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		log, out := []simstore.ID(state.(string)), output.([]simstore.ID)
		if input == nil {
			return slices.Equal(log, out), state
		}
		for i, id := range input.([]simstore.ID) {
			at := slices.Index(log, id)
			if at < 0 {
				at, log = len(log), append(log, id)
			}
			if out != nil && int(out[i]) != at {
				return false, state
			}
		}
		return true, string(log)
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, " ", output) },
}

// viewModel is the view as a set. An input is an id that is shown, or nil for a look, whose output is the view.
var viewModel = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		view := state.(uint64)
		if input != nil {
			return true, view | 1<<input.(simstore.ID)
		}
		var seen uint64
		for _, id := range output.([]simstore.ID) {
			seen |= 1 << id
		}
		return seen == view, state
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, " ", output) },
}

// TestHistoryModelsRefuse shows that the models are not satisfied with anything.
func TestHistoryModelsRefuse(t *testing.T) {
	t.Parallel()
	look := sim.Call{Key: "k", Look: true}
	submit := sim.Submit("k", "a")
	projectedAt := func(position int) []sim.Outcome {
		return []sim.Outcome{{Status: projected.Projected, Result: position}}
	}
	tests := []struct {
		name       string
		calls      []sim.Made
		logs, view bool
	}{
		{"a view that shows it", []sim.Made{
			{Call: submit, Began: 1, Ended: 2, Outcomes: projectedAt(0)},
			{Call: look, Began: 3, Ended: 3, Log: []simstore.ID{0}, View: []simstore.ID{0}},
		}, true, true},
		{"a view that lacks what was answered projected", []sim.Made{
			{Call: submit, Began: 1, Ended: 2, Outcomes: projectedAt(0)},
			{Call: look, Began: 3, Ended: 3, Log: []simstore.ID{0}},
		}, true, false},
		{"a view that shows it before anybody asked", []sim.Made{
			{Call: look, Began: 1, Ended: 1, View: []simstore.ID{0}},
			{Call: submit, Began: 2, Ended: 3, Outcomes: projectedAt(0)},
		}, true, false},
		{"a position that nobody else left room for", []sim.Made{
			{Call: submit, Began: 1, Ended: 2, Outcomes: projectedAt(1)},
		}, false, true},
		{"a call that never returned and is seen later", []sim.Made{
			{Call: submit, Began: 1},
			{Call: look, Began: 5, Ended: 5, Log: []simstore.ID{0}, View: []simstore.ID{0}},
		}, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			logs, views := operations(&sim.Trace{Calls: test.calls}, "k")
			if got := porcupine.CheckOperations(logModel, logs); got != test.logs {
				t.Errorf("log: got %v, want %v", got, test.logs)
			}
			if got := porcupine.CheckOperations(viewModel, views); got != test.view {
				t.Errorf("view: got %v, want %v", got, test.view)
			}
		})
	}
}
