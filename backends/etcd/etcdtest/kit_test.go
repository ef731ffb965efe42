package etcdtest_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/etcd"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim"
)

type (
	record = backends.Record[[]string]
	views  = etcd.Store[string, []string, []string]
	rows   = etcd.RowStore[string, []string, string, string]
)

func itself(id string) string { return id }

func with(log []string, id string) ([]string, int, bool) {
	if at := slices.Index(log, id); at >= 0 {
		return log, at, false
	}
	return append(slices.Clip(log), id), len(log), true
}

func each(log []string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, id := range log {
			if !yield(id, id) {
				return
			}
		}
	}
}

func throttled() *backends.Error { return &backends.Error{Op: "store", Class: backends.ErrRefused} }
func nth(_ string, n int) string { return sim.AnyText(n) }
func log(r record) []string      { return r.Body }

func view(s *views, ctx context.Context, key string) ([]string, error) {
	shown, _, err := s.View(ctx, key)
	return shown, err
}

// TestKit is the public test of stores, with a prefix for every law.
func TestKit(t *testing.T) {
	t.Parallel()
	t.Run("views", func(t *testing.T) {
		t.Parallel()
		sim.TestStore(t,
			projected.WholeRecord(
				fold.New[*backends.Error](itself, (*views).Read, backends.Step(with), (*views).Commit, schedule.Stop()),
				record.Pending, (*views).Project),
			func(t *testing.T) *views {
				return etcd.New[string](open(t, common.Endpoints()...), slices.Clone[[]string])
			},
			throttled, sim.AnyBytes, nth, log, view, (*views).PendingKeys, sim.WithDelete((*views).Delete))
	})
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		sim.TestRowStore(t,
			fold.New[*backends.Error](itself, (*rows).Read, backends.Step(with), (*rows).Commit, schedule.Stop()),
			record.Pending, backends.RowsOf(each), (*rows).Missing, (*rows).Put, (*rows).Clear,
			func(t *testing.T) *rows {
				return etcd.NewRows[string](open(t, common.Endpoints()...), each, itself)
			},
			throttled, sim.AnyBytes, nth, log, (*rows).Rows, (*rows).PendingKeys, sim.WithDelete((*rows).Delete))
	})
}
