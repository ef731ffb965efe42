package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/postgres"
)

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, kinds, openBench, func(db *postgres.DB) uint64 { return db.Stats().Transactions })
}

func openBench(b *testing.B) *postgres.DB {
	b.Helper()
	config := postgres.Config{Schema: fmt.Sprint("bench ", schemas.Add(1))}
	pool, err := pgxpool.New(b.Context(), server.ConnString("postgres"))
	if err != nil {
		b.Fatal(err)
	}
	if err := postgres.Migrate(b.Context(), pool, config); err != nil {
		b.Fatal(err)
	}
	db, err := postgres.Open(b.Context(), pool, config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		db.Close()
		pool.Close()
	})
	return db
}
