package contract

import (
	"context"
	"iter"
	"slices"

	"github.com/goferry/goferry/backends/memory"
)

// NewView makes a memory store whose view is a copy of the record's log.
func NewView() *memory.Store[string, []string, []string] {
	return memory.New[string](slices.Clone[[]string])
}

// NewRows makes a memory store with one row per entry, which is the entry itself.
func NewRows() *memory.RowStore[string, []string, string, string] {
	return memory.NewRows[string](RowsOf, func(row string) string { return row })
}

// RowsOf yields the entries of a log, each as its own row.
func RowsOf(log []string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, id := range log {
			if !yield(id, id) {
				return
			}
		}
	}
}

// OfView is store as a subject.
func OfView(store *memory.Store[string, []string, []string]) Subject {
	return Subject{
		Store: store, Settle: store.Project, Delete: store.Delete,
		View: func(ctx context.Context, key string) ([]string, error) {
			view, _, err := store.View(ctx, key)
			return view, err
		},
	}
}

// OfRows is store as a subject.
func OfRows(store *memory.RowStore[string, []string, string, string]) Subject {
	return Subject{Store: store, Settle: store.Clear, Delete: store.Delete, View: store.Rows, Rows: store}
}
