package main

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sethvargo/go-retry"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/report"
	"github.com/goferry/goferry/schedule"
)

var errAgain = errors.New("again")

// failing answers an operation that fails so many times and then succeeds, over and over.
func failing(times int) func() (int, error) {
	n := 0
	return func() (int, error) {
		if n < times {
			n++
			return 0, errAgain
		}
		n = 0
		return 1, nil
	}
}

// retriers retry an operation that fails so many times, without pauses, up to five times.
func retriers(failures int) (all []micro, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	retrier := func(name string, run func(op func() (int, error)) (int, error)) {
		op := failing(failures)
		all = append(all, micro{name, func() {
			if got, err := run(op); got != 1 || err != nil {
				panic(err) // Five retries are enough.
			}
		}})
	}
	recurs := schedule.Recurs(retries)
	retrier("goferry schedule", func(op func() (int, error)) (int, error) {
		return schedule.Retry(ctx, recurs, func(context.Context) (int, error) { return op() })
	})
	retrier("cenkalti/backoff", func(op func() (int, error)) (int, error) {
		return backoff.Retry(ctx, op, backoff.WithBackOff(&backoff.ZeroBackOff{}), backoff.WithMaxTries(retries+1))
	})
	retrier("sethvargo/go-retry", func(op func() (int, error)) (int, error) {
		noPause := retry.BackoffFunc(func() (time.Duration, bool) { return 0, false })
		return retry.DoValue(ctx, retry.WithMaxRetries(retries, noPause), func(context.Context) (int, error) {
			v, err := op()
			return v, retry.RetryableError(err)
		})
	})
	return all, cancel
}

func schedules(r *report.Report, s scale) error {
	r.Section("g. Schedules",
		"An operation that succeeds at once, and one that fails five times, retried without a pause. The peers start a timer for a pause of zero,\n"+
			"and wait for it; goferry does not.")
	var rows [][]string
	all, stop := retriers(0)
	defer stop()
	again, stopAgain := retriers(retries)
	defer stopAgain()
	first, fifth := timeAll(all, s), timeAll(again, s)
	allocs := func(t timing) float64 { return t.allocs }
	for i, m := range all {
		rows = append(rows, []string{
			m.name,
			report.Number(load.Median(first[i], nanoseconds)), report.Times(load.Ratio(first[i], first[0], nanoseconds)), report.Number(load.Median(first[i], allocs)),
			report.Number(load.Median(fifth[i], nanoseconds)), report.Times(load.Ratio(fifth[i], fifth[0], nanoseconds)), report.Number(load.Median(fifth[i], allocs)),
		})
	}
	r.Table("**Per operation**", []string{"", "ns at once", "to goferry", "allocs", "ns with 5 retries", "to goferry", "allocs"}, rows)
	return nil
}
