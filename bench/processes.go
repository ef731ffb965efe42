package main

import (
	"fmt"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/report"
)

func processes(r *report.Report, s scale) error {
	r.Section("f. Two processes on one hot key",
		"128 callers on one key of the same store: through one process, and half of them through each of two, which know nothing of each other.\n"+
			"Each has one batch out at a time, and the store's fence keeps the two apart: a conflict is a write that came second and is made again from a new\n"+
			"read. After each round the store held every entry that was answered, once.")
	const most = 2
	got, err := load.Turns(s.rounds, most, func(i int) (trade, error) { return visit(i+1, s.some(128), 1, s.longer(2).window) })
	if err != nil {
		return err
	}
	var rows [][]string
	for i, mine := range got {
		row := append([]string{fmt.Sprint(i + 1)}, describe(mine, got[0])...)
		rows = append(rows, append(row,
			report.Number(load.Median(mine, func(t trade) float64 { return t.conflicts })),
			report.Number(load.Median(mine, func(t trade) float64 { return t.retries })),
			report.Number(load.Median(mine, func(t trade) float64 { return t.gaveUp }))))
	}
	header := append([]string{"processes"}, tradeHeader...)
	r.Table("**One hot key**; ratios are to one process", append(header, "conflicts/batch", "retries/batch", "submitted again"), rows)
	r.Told("Entries/s of two processes on one hot key to those of one", load.Ratio(got[1], got[0], tradesPerSecond))
	return nil
}
