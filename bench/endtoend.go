package main

import (
	"fmt"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/report"
)

// trade is one round at a shop.
type trade struct {
	load.Result
	load.Total
	opsPerEntry        float64
	conflicts, retries float64 // per batch
	gaveUp             float64 // entries
}

// visit runs callers for a while, spread over keys.
func visit(processes, callers, keys int, w load.Window) (trade, error) {
	s := openShop(processes)
	results, total, err := load.Run(s.count, s.submit, w, load.Group{Callers: callers, Key: load.One(load.Keys(keys))})
	if err != nil {
		return trade{}, err
	}
	if err := s.close(); err != nil {
		return trade{}, err
	}
	batches := float64(s.count().Calls)
	return trade{
		Result: results[0], Total: total,
		opsPerEntry: float64(s.ops.Load()) / float64(s.answered.Load()),
		conflicts:   float64(s.conflicts.Load()) / batches,
		retries:     float64(s.retries.Load()) / batches,
		gaveUp:      float64(s.gaveUp.Load()),
	}, nil
}

func entriesPerOp(t trade) float64    { return 1 / t.opsPerEntry }
func tradesPerSecond(t trade) float64 { return t.PerSecond }

func endToEnd(r *report.Report, s scale) error {
	r.Section("e. Projected writes, end to end",
		"Four keys through a ferry and a ProjectedWrite into the memory backend, each of whose calls takes a millisecond there and back. A batch is three calls:\n"+
			"read, commit, project. The batches of a ferry are at most 256 entries.")
	loads := []int{1, 4, 16, 64, 256, 1024}
	const keys = 4
	got, err := load.Turns(s.rounds, len(loads), func(i int) (trade, error) {
		return visit(1, keys*s.some(loads[i]), keys, s.window)
	})
	if err != nil {
		return err
	}
	var rows [][]string
	for i := range loads {
		rows = append(rows, append([]string{fmt.Sprint(s.some(loads[i]))}, describe(got[i], got[0])...))
	}
	r.Table("**As the load grows**; ratios are to one caller per key", append([]string{"callers per key"}, tradeHeader...), rows)
	return nil
}

var tradeHeader = []string{"entries/s", "ratio", "entries/store call", "p50", "p99", "mean batch", "batch took"}

func describe(mine, base []trade) []string {
	return []string{
		report.Number(load.Median(mine, tradesPerSecond)),
		report.Times(load.Ratio(mine, base, tradesPerSecond)),
		report.Number(load.Median(mine, entriesPerOp)),
		report.Duration(load.Median(mine, func(t trade) time.Duration { return t.P50 })),
		report.Duration(load.Median(mine, func(t trade) time.Duration { return t.P99 })),
		report.Number(load.Median(mine, func(t trade) float64 { return t.Batch() })),
		report.Duration(load.Median(mine, func(t trade) time.Duration { return t.Cost() })),
	}
}
