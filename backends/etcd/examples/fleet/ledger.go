package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/etcd"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// entry is what clients submit: a booking on an account.
type entry struct {
	ID      string
	Account string
	Cents   int
}

func (e entry) ident() string   { return e.ID }
func (e entry) account() string { return e.Account }

// ledger is the record of an account.
type ledger []entry

func (l ledger) rows() iter.Seq2[string, entry] {
	return func(yield func(string, entry) bool) {
		for _, e := range l {
			if !yield(e.ID, e) {
				return
			}
		}
	}
}

// book answers the place of an entry in its ledger. One that is booked already keeps its place.
func book(l ledger, in entry) (next ledger, place int, changed bool) {
	if i := slices.Index(l, in); i >= 0 {
		return l, i + 1, false
	}
	return append(slices.Clip(l), in), len(l) + 1, true
}

type store = etcd.RowStore[string, ledger, string, entry]

var write = projected.New(
	fold.New[*backends.Error](
		entry.ident, (*store).Read, backends.Step(book), (*store).Commit,
		schedule.Exponential(10*time.Millisecond).Capped(500*time.Millisecond).Jittered().And(schedule.Recurs(20))),
	backends.Record[ledger].Pending,
	(*store).ProjectRows,
)

// openStore connects to the cluster. A process gets all endpoints: it does not know, or care, which node leads.
func openStore(ctx context.Context, endpoints []string) (*etcd.DB, *store, error) {
	db, err := etcd.Open(ctx, clientv3.Config{Endpoints: endpoints}, etcd.Config{})
	if err != nil {
		return nil, nil, err
	}
	return db, etcd.NewRows[string](db, ledger.rows, entry.ident), nil
}

// finish resumes what is pending, whoever left it, and answers how many accounts that were.
func finish(ctx context.Context, s *store) (int, error) {
	resumed := 0
	for account, err := range s.PendingKeys(ctx) {
		if err != nil {
			return resumed, err
		}
		if left, err := write.Provide(s).Resume(ctx, account); err != nil || len(left) > 0 {
			return resumed, fmt.Errorf("resume %s: %d entries left: %w", account, len(left), err)
		}
		resumed++
	}
	return resumed, nil
}
