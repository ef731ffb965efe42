package sim_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/memory"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim"
)

type (
	logRecord = backends.Record[[]string]
	viewStore = memory.Store[string, []string, []string]
	rowStore  = memory.RowStore[string, []string, string, string]
)

func ident(in string) string { return in }

func add(log []string, in string) ([]string, int, bool) {
	if at := slices.Index(log, in); at >= 0 {
		return log, at, false
	}
	return append(slices.Clip(log), in), len(log), true
}

func rowsOf(log []string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, id := range log {
			if !yield(id, id) {
				return
			}
		}
	}
}

func throttled() *backends.Error      { return &backends.Error{Op: "store", Class: backends.ErrRefused} }
func nthInput(_ string, n int) string { return sim.AnyBytes(n) }
func logOf(r logRecord) []string      { return r.Body }

func viewOf(s *viewStore, ctx context.Context, key string) ([]string, error) {
	view, _, err := s.View(ctx, key)
	return view, err
}

func TestMemoryKeepsTheLaws(t *testing.T) {
	t.Parallel()
	write := projected.WholeRecord(
		fold.New[*backends.Error](ident, (*viewStore).Read, backends.Step(add), (*viewStore).Commit, schedule.Stop()),
		logRecord.Pending, (*viewStore).Project)
	same := func(_ *testing.T, s *viewStore) *viewStore { return s }
	sim.TestStore(t, write,
		func(*testing.T) *viewStore { return memory.New[string](slices.Clone[[]string]) },
		throttled, sim.AnyBytes, nthInput, logOf, viewOf, (*viewStore).PendingKeys,
		sim.WithDelete((*viewStore).Delete), sim.WithReopen(same), sim.WithSecondHandle(same), sim.WithHistories(2000))
}

func TestMemoryRowsKeepTheLaws(t *testing.T) {
	t.Parallel()
	sim.TestRowStore(t,
		fold.New[*backends.Error](ident, (*rowStore).Read, backends.Step(add), (*rowStore).Commit, schedule.Stop()),
		logRecord.Pending,
		backends.RowsOf(rowsOf), (*rowStore).Missing, (*rowStore).Put, (*rowStore).Clear,
		func(*testing.T) *rowStore { return memory.NewRows[string](rowsOf, ident) },
		throttled, sim.AnyBytes, nthInput, logOf, (*rowStore).Rows, (*rowStore).PendingKeys,
		sim.WithDelete((*rowStore).Delete), sim.WithVirtualTime(), sim.WithHistories(2000))
}
