package postgres_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/postgres"
)

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

// BenchmarkCommit reads and commits a record of 1 KiB, one key after the other.
func BenchmarkCommit(b *testing.B) {
	s := postgres.New[string](openBench(b), func(string) string { return "" })
	body := strings.Repeat("x", 1024)
	b.ReportAllocs()
	for b.Loop() {
		record, err := s.Read(b.Context(), "k")
		if err == nil {
			_, err = s.Commit(b.Context(), "k", record, backends.Record[string]{Body: body})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit64Keys is 64 writers on 64 keys. An operation is one commit.
func BenchmarkCommit64Keys(b *testing.B) {
	db := openBench(b)
	s := postgres.New[string](db, func(string) string { return "" })
	body := strings.Repeat("x", 1024)
	b.ReportAllocs()
	var all sync.WaitGroup
	for w := range 64 {
		all.Go(func() {
			var record backends.Record[string]
			for n := w; n < b.N; n += 64 {
				var err error
				if record, err = s.Commit(b.Context(), fmt.Sprint(w), record, backends.Record[string]{Body: body}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(db.Stats().Transactions)/float64(b.N), "transactions/op")
}

// BenchmarkProject64Rows commits a record of 64 entries and projects it. An operation is all of it.
func BenchmarkProject64Rows(b *testing.B) {
	s := postgres.NewRows[string](openBench(b), storetest.Of, storetest.Entry.Ident)
	var body storetest.Log
	for n := range 64 {
		body.Entries = append(body.Entries, storetest.Entry{ID: fmt.Sprint(n), N: n})
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		key := fmt.Sprint(n)
		record, err := s.Commit(b.Context(), key, storetest.Record{}, storetest.Record{Body: body, Behind: true})
		if err == nil {
			_, err = s.ProjectRows(b.Context(), key, record)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(64*b.N)/b.Elapsed().Seconds(), "rows/s")
}
