package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/memory"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

type Entry struct{ ID, Account string }

func (e Entry) Ident() string { return e.ID }
func (e Entry) Key() string   { return e.Account }

// add folds an entry into an account's log. One that is in the log already is answered, not added again.
func add(log []string, e Entry) (next []string, position int, changed bool) {
	if at := slices.Index(log, e.ID); at >= 0 {
		return log, at, false
	}
	return append(slices.Clip(log), e.ID), len(log), true
}

type Store = backends.ViewStore[string, []string]

var write = projected.WholeRecord(
	fold.New[*backends.Error](Entry.Ident, Store.Read, backends.Step(add), Store.Commit,
		schedule.Exponential(10*time.Millisecond).Jittered().And(schedule.Recurs(5))),
	backends.Record[[]string].Pending,
	Store.Project,
)

func main() {
	ctx := context.Background()
	store := memory.New[string](func(log []string) int { return len(log) }) // The view: how many.
	lanes := ferry.PerKey(ferry.Config{}, Entry.Key, write.Provide(store).Call)
	defer lanes.Close(ctx)

	outcome, err := lanes.Submit(ctx, Entry{ID: "e1", Account: "acme"})
	fmt.Println(outcome.Status, outcome.Result, err) // projected 0 <nil>
}
