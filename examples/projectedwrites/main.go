// Projectedwrites writes entries of accounts through lanes into a store whose view goes down for a while. The entries
// written meanwhile come back Committed, the sweeper finishes their views, and in the end every view equals its log,
// with each entry once.
package main

import (
	"context"
	"fmt"
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

// Store is whatever keeps records with a view of one object each.
type Store = backends.ViewStore[string, ledger.Log]

var retry = schedule.Exponential(10 * time.Millisecond).Jittered().And(schedule.Recurs(5)).Tap(demo.CountRetry)

// The pipeline: commit entries to their account's log, then project its statement.
var write = projected.WholeRecord(
	fold.New[*backends.Error](ledger.Entry.Ident, Store.Read, backends.Step(ledger.Append), Store.Commit, retry),
	backends.Record[ledger.Log].Pending,
	Store.Project,
)

func main() { demo.Main("the view", build) }

// build puts the parts together: the store behind its faults, the lanes in front of the pipeline, and the sweeper.
func build(ctx context.Context, o demo.Options) (demo.Parts, error) {
	disk, err := demo.OpenView(ctx, o.Store)
	if err != nil {
		return demo.Parts{}, err
	}
	f := faults.New(plan(o))
	store := faults.View(f, disk)
	lanes := ferry.PerKey(demo.Lanes, ledger.Entry.Key, write.Provide(store).Call)
	return demo.Parts{
		Submit: lanes.Submit,
		Close:  lanes.Close,
		Sweep:  demo.Sweep(projected.NewSweeper(write, store, Store.PendingKeys)),
		Break:  func() { f.Break(faults.Project) },
		Heal:   func() { f.Heal() },
		Disk:   disk,
		Check: func(ctx context.Context, account string, log ledger.Log) error {
			view, _, err := disk.View(ctx, account)
			if err != nil {
				return err
			}
			if want := log.State().Cents; view.Cents != want {
				return fmt.Errorf("the view shows %d cents, want %d", view.Cents, want)
			}
			return log.Check(view.IDs)
		},
	}, nil
}

// plan is the store's usual weather: slow, and now and then throttled or with an answer lost.
func plan(o demo.Options) faults.Plan {
	slow := faults.Mix{Latency: faults.Latency{Min: time.Millisecond, Max: 3 * time.Millisecond}}
	rough := slow
	rough.Throttle, rough.Lost, rough.Late = faults.Rate{P: 0.02}, faults.Rate{P: 0.01}, faults.Rate{P: 0.005}
	return faults.Plan{Seed: o.Seed, Read: slow, Commit: rough, Project: rough}
}
