package faults_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/faults"
	"github.com/goferry/goferry/backends/internal/contract"
)

func TestInvalidPlansPanic(t *testing.T) {
	t.Parallel()
	tests := []struct {
		plan faults.Plan
		want string // the start of the panic
	}{
		{faults.Plan{Commit: faults.Mix{Throttle: faults.Rate{N: 2, M: 1}}}, "faults: Plan.Commit.Throttle: "},
		{faults.Plan{Commit: faults.Mix{Throttle: faults.Rate{N: 1}}}, "faults: Plan.Commit.Throttle: "},
		{faults.Plan{Put: faults.Mix{Throttle: faults.Rate{N: -1, M: 1}}}, "faults: Plan.Put.Throttle: "},
		{faults.Plan{Project: faults.Mix{Lost: faults.Rate{P: 1.5}}}, "faults: Plan.Project.Lost: "},
		{faults.Plan{Clear: faults.Mix{Late: faults.Rate{P: math.NaN()}}}, "faults: Plan.Clear.Late: "},
		{faults.Plan{Read: faults.Mix{Late: faults.Rate{P: 1}}}, "faults: Plan.Read.Late: "},
		{faults.Plan{List: faults.Mix{Late: faults.Rate{N: 1, M: 2}}}, "faults: Plan.List.Late: "},
		{faults.Plan{Missing: faults.Mix{Late: faults.Rate{P: 1}}}, "faults: Plan.Missing.Late: "},
		{faults.Plan{Read: faults.Mix{Latency: faults.Latency{Min: 2, Max: 1}}}, "faults: Plan.Read.Latency: "},
		{faults.Plan{Read: faults.Mix{Latency: faults.Latency{Min: -1}}}, "faults: Plan.Read.Latency: "},
		{faults.Plan{Read: faults.Mix{CrashAfter: -1}}, "faults: Plan.Read.CrashAfter: "},
		{faults.Plan{Read: faults.Mix{Outages: []faults.Window{{From: time.Second, To: time.Second}}}}, "faults: Plan.Read.Outages: "},
		{faults.Plan{Read: faults.Mix{Outages: []faults.Window{{From: -1, To: 1}}}}, "faults: Plan.Read.Outages: "},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			if got := fmt.Sprint(panicOf(func() { faults.New(tt.plan) })); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got panic %q, want %q", got, tt.want)
			}
		})
	}
}

func TestInvalidWrappingsPanic(t *testing.T) {
	t.Parallel()
	f := faults.New(faults.Plan{})
	tests := []struct {
		want string
		wrap func()
	}{
		{"faults: View: f is nil", func() { faults.View(nil, contract.NewView()) }},
		{"faults: View: inner is nil", func() { faults.View[string, int](f, nil) }},
		{"faults: Rows: f is nil", func() { faults.Rows(nil, contract.NewRows()) }},
		{"faults: Rows: inner is nil", func() { faults.Rows[string, int, int, int](f, nil) }},
		{`faults: Break: no operation is named "comit"`, func() { f.Break("comit") }},
	}
	for _, tt := range tests {
		if got := panicOf(tt.wrap); got != tt.want {
			t.Errorf("got panic %q, want %q", got, tt.want)
		}
	}
}

func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// throttled answers which of n reads are refused.
func throttled(plan faults.Plan, n int) []int {
	store := faults.View(faults.New(plan), contract.NewView())
	var refused []int
	for call := 1; call <= n; call++ {
		if _, err := store.Read(ctx, "k"); err != nil {
			refused = append(refused, call)
		}
	}
	return refused
}

func TestCountedRates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rate faults.Rate
		want []int // of the first twenty calls
	}{
		{faults.Rate{}, nil},
		{faults.Rate{N: 0, M: 3}, nil},
		{faults.Rate{N: 1, M: 9}, []int{9, 18}},
		{faults.Rate{N: 2, M: 5}, []int{3, 5, 8, 10, 13, 15, 18, 20}},
		{faults.Rate{N: 7, M: 7}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}},
	}
	for _, tt := range tests {
		if got := throttled(faults.Plan{Read: faults.Mix{Throttle: tt.rate}}, 20); !slices.Equal(got, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.rate, got, tt.want)
		}
	}
}

// TestDrawnRates counts what a seed draws: no test of chance, for it is the same in every run.
func TestDrawnRates(t *testing.T) {
	t.Parallel()
	for _, p := range []float64{0, 0.1, 0.5, 1} {
		const n = 10_000
		got := len(throttled(faults.Plan{Seed: 3, Read: faults.Mix{Throttle: faults.Rate{P: p}}}, n))
		if math.Abs(float64(got)-p*n) > 0.02*n {
			t.Errorf("%v: got %v of %v calls", p, got, n)
		}
	}
}

// TestReproducible: the same seed draws the same, for each operation on its own; another seed and another operation do
// not.
func TestReproducible(t *testing.T) {
	t.Parallel()
	half := faults.Rate{P: 0.5}
	met := func(plan faults.Plan, op faults.Op, readsBetween int) []error {
		var met []error
		plan.Hook = func(e faults.Event) {
			if e.Op == op && !e.Landed {
				met = append(met, e.Fault)
			}
		}
		store := faults.View(faults.New(plan), contract.NewView())
		for range 50 {
			store.Commit(ctx, "k", contract.Record{}, contract.Record{})
			for range readsBetween {
				store.Read(ctx, "k")
			}
		}
		return met
	}
	plan := faults.Plan{Seed: 1, Commit: faults.Mix{Throttle: half, Late: half}, Read: faults.Mix{Throttle: half}}
	want := met(plan, faults.Commit, 0)
	if got := met(plan, faults.Commit, 3); !slices.Equal(got, want) {
		t.Errorf("got %v with reads between, want %v", got, want)
	}
	throttles := func(met []error) (at []int) {
		for i, fault := range met {
			if fault == faults.ErrThrottled {
				at = append(at, i)
			}
		}
		return at
	}
	if got := throttles(met(plan, faults.Read, 1)); slices.Equal(got, throttles(want)) {
		t.Errorf("got %v throttled, of the reads and of the commits", got)
	}
	other := plan
	other.Seed = 2
	if got := met(other, faults.Commit, 0); slices.Equal(got, want) {
		t.Errorf("got %v from another seed, too", got)
	}
	calm := plan
	calm.Commit.Throttle = faults.Rate{}
	for i, fault := range met(calm, faults.Commit, 0) {
		if want[i] != faults.ErrThrottled && fault != want[i] {
			t.Errorf("commit %v: got %v without the throttle, want %v", i, fault, want[i])
		}
	}
}

func TestTextOfErrors(t *testing.T) {
	t.Parallel()
	store := faults.View(faults.New(faults.Plan{Commit: faults.Mix{Lost: faults.Rate{P: 1}}}), contract.NewView())
	_, err := store.Commit(ctx, "k", contract.Record{}, contract.Record{Body: []string{"secret"}})
	if got, want := fmt.Sprint(err), "commit k: outcome unknown: answer lost"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if e, ok := err.(*backends.Error); !ok || e.Key != "k" || e.Op != "commit" {
		t.Errorf("got %#v, want the key and the operation", err)
	}
}
