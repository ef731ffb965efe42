package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/sqlite"
)

func BenchmarkStore(b *testing.B) {
	open := func(b *testing.B) *sqlite.DB {
		b.Helper()
		db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "store.db"), sqlite.Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		return db
	}
	storetest.Bench(b, kinds, open, func(db *sqlite.DB) uint64 { return db.Stats().Transactions })
}
