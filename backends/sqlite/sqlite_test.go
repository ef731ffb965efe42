package sqlite_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goferry/goferry/backends/internal/contract"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/sqlite"
)

var kinds = storetest.Kinds(
	func(db *sqlite.DB) storetest.Views { return sqlite.New[string](db, storetest.Show) }, newRows)

type rowStore = sqlite.RowStore[string, storetest.Log, string, storetest.Entry]

func newRows(db *sqlite.DB) *rowStore {
	return sqlite.NewRows[string](db, storetest.Of, storetest.Entry.Ident)
}

func open(t *testing.T, path string, config sqlite.Config) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func newFile(t *testing.T) string { return filepath.Join(t.TempDir(), "store.db") }

// TestContract has every check of single calls. A check has a file of its own.
func TestContract(t *testing.T) {
	t.Parallel()
	t.Run("views", func(t *testing.T) {
		t.Parallel()
		contract.Test(t, func() contract.Subject {
			s := sqlite.New[string](open(t, newFile(t), sqlite.Config{}), slices.Clone[[]string])
			return contract.Subject{
				Store: s, Settle: s.Project, Delete: s.Delete,
				View: func(ctx context.Context, key string) ([]string, error) {
					view, _, err := s.View(ctx, key)
					return view, err
				},
			}
		})
	})
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		contract.Test(t, func() contract.Subject {
			s := sqlite.NewRows[string](open(t, newFile(t), sqlite.Config{}), contract.RowsOf, func(row string) string { return row })
			return contract.Subject{Store: s, Settle: s.Clear, Delete: s.Delete, View: s.Rows, Rows: s}
		})
	})
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			storetest.Test(t, func(t *testing.T) storetest.Subject {
				return kind.Of(open(t, newFile(t), sqlite.Config{}))
			})
		})
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			storetest.Model(t, kind.Of(open(t, newFile(t), sqlite.Config{})), kind.Model)
		})
	}
}

func TestCancelledCommits(t *testing.T) {
	t.Parallel()
	storetest.Cancelled(t, kinds[0].Of(open(t, newFile(t), sqlite.Config{})), 5000)
}
