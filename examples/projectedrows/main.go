// Projectedrows writes entries of accounts through lanes into a store with a view of one row per entry, that throttles
// one row in nine and takes no rows at all for a while. Each entry whose row failed comes back Committed with its own
// cause, the rest of its batch Projected; the sweeper writes the missing rows, and in the end there is one row per entry.
package main

import (
	"context"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/faults"
	"github.com/goferry/goferry/examples/internal/demo"
	"github.com/goferry/goferry/examples/internal/ledger"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Store is whatever keeps records with a view of one row per entry.
type Store = backends.RowStore[string, ledger.Log, string, ledger.Entry]

// Record is an account as the store keeps it.
type Record = backends.Record[ledger.Log]

var retry = schedule.Exponential(10 * time.Millisecond).Jittered().And(schedule.Recurs(5)).Tap(demo.CountRetry)

// The pipeline: commit entries to their account's log, then write their rows.
var write = projected.New(
	fold.New[*backends.Error](ledger.Entry.Ident, Store.Read, backends.Step(ledger.Append), Store.Commit, retry),
	Record.Pending,
	projected.Rows(backends.RowsOf(ledger.Log.Rows), Store.Missing, Store.Put, Store.Clear),
)

func main() { demo.Main("the rows", build) }

// build puts the parts together: the store behind its faults, the lanes in front of the pipeline, and the sweeper.
func build(ctx context.Context, o demo.Options) (demo.Parts, error) {
	disk, err := demo.OpenRows(ctx, o.Store)
	if err != nil {
		return demo.Parts{}, err
	}
	f := faults.New(plan(o))
	store := faults.Rows(f, disk)
	lanes := ferry.PerKey(demo.Lanes, ledger.Entry.Key, write.Provide(store).Call)
	return demo.Parts{
		Submit: lanes.Submit,
		Close:  lanes.Close,
		Sweep:  demo.Sweep(projected.NewSweeper(write, store, Store.PendingKeys)),
		Break:  func() { f.Break(faults.Put) },
		Heal:   func() { f.Heal() },
		Disk:   disk,
		Check: func(ctx context.Context, account string, log ledger.Log) error {
			rows, err := disk.Rows(ctx, account)
			if err != nil {
				return err
			}
			var shown []string
			for _, row := range rows {
				shown = append(shown, row.ID)
			}
			return log.Check(shown)
		},
	}, nil
}

// plan is the store's usual weather: slow, one row in nine throttled, and now and then an answer lost.
func plan(o demo.Options) faults.Plan {
	slow := faults.Mix{Latency: faults.Latency{Min: time.Millisecond, Max: 3 * time.Millisecond}}
	rough := slow
	rough.Lost = faults.Rate{P: 0.01}
	rows := faults.Mix{Throttle: faults.Rate{N: 1, M: 9}, Lost: faults.Rate{P: 0.01}}
	return faults.Plan{Seed: o.Seed, Read: slow, Commit: rough, Put: rows, Clear: slow}
}
