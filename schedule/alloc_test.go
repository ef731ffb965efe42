//go:build !race

package schedule_test

import (
	"context"
	"testing"

	"github.com/goferry/goferry/schedule"
)

// Not parallel, for other tests would be counted too.
func TestAllocations(t *testing.T) {
	var (
		s       = schedule.Exponential(ms).Jittered().And(schedule.Recurs(5))
		succeed = func(context.Context) (int, error) { return 1, nil }
		fail    = func(context.Context) (int, error) { return 0, errFailed }
		retry   = func(s schedule.Schedule, op func(context.Context) (int, error)) float64 {
			return testing.AllocsPerRun(100, func() { _, _ = schedule.Retry(context.Background(), s, op) })
		}
	)
	if got := retry(s, succeed); got != 0 {
		t.Errorf("first run succeeds: got %v allocations, want none", got)
	}
	typed := func() { _, _ = schedule.RetryFailures[input](context.Background(), s, succeed) }
	if got := testing.AllocsPerRun(100, typed); got != 0 {
		t.Errorf("first run succeeds, typed: got %v allocations, want none", got)
	}
	// A timer would be an allocation for each step.
	if one, many := retry(schedule.Recurs(1), fail), retry(schedule.Recurs(1000), fail); one != many {
		t.Errorf("no delay: got %v allocations for a step and %v for 1000, want the same", one, many)
	}
}

func BenchmarkRetrySuccess(b *testing.B) {
	s := schedule.Exponential(ms).Jittered().And(schedule.Recurs(5))
	op := func(context.Context) (int, error) { return 1, nil }
	b.ReportAllocs()
	for b.Loop() {
		_, _ = schedule.Retry(b.Context(), s, op)
	}
}

func BenchmarkNext(b *testing.B) {
	s := schedule.Exponential(ms).Jittered()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for run := s.Start(); pb.Next(); {
			run.Next(errFailed)
		}
	})
}
