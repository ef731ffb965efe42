package sqlite_test

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/sqlite"
)

func TestNilArgumentsPanic(t *testing.T) {
	t.Parallel()
	db := open(t, newFile(t), sqlite.Config{})
	tests := []struct {
		want string
		make func()
	}{
		{"durable: New: engine is nil", func() { sqlite.New[string](nil, storetest.Show) }},
		{"durable: New: view is nil", func() { sqlite.New[string, int, int](db, nil) }},
		{"durable: NewRows: engine is nil", func() { sqlite.NewRows[string](nil, storetest.Of, storetest.Entry.Ident) }},
		{"durable: NewRows: of is nil", func() { sqlite.NewRows[string, int, string, int](db, nil, nil) }},
		{"durable: NewRows: id is nil", func() { sqlite.NewRows[string](db, storetest.Of, nil) }},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("got panic %v, want %v", got, tt.want)
				}
			}()
			tt.make()
		})
	}
}

// TestGroupCommit has 64 writers on 64 keys: what waits shares a transaction, and so a sync.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	const writers, each = 64, 20
	db := open(t, newFile(t), sqlite.Config{})
	s := kinds[0].Of(db)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			var record storetest.Record
			for n := range each {
				next := record
				next.Body, _, _ = storetest.With(record.Body, storetest.Entry{ID: fmt.Sprint(n)})
				var err error
				if record, err = s.Commit(t.Context(), fmt.Sprint(w), record, next); err != nil {
					t.Errorf("commit: %v", err)
				}
			}
		})
	}
	all.Wait()
	got := db.Stats()
	if got.Operations != writers*each || got.Statements != writers*each || got.Transactions > writers*each/3 {
		t.Errorf("got %+v, want %d operations in far fewer transactions", got, writers*each)
	}
	t.Logf("%.3f transactions a commit", float64(got.Transactions)/float64(got.Operations))
}

// TestStatements counts what single calls cost: a commit is one statement, a projection one transaction, with one statement for
// 64 rows in it.
func TestStatements(t *testing.T) {
	t.Parallel()
	const n, inserts = 64 + 8 + 1, 3
	body := storetest.Log{}
	for i := range n {
		body, _, _ = storetest.With(body, storetest.Entry{ID: fmt.Sprint(i)})
	}
	tests := []struct {
		name                 string
		kind                 int
		project              bool
		statements, syncsTwo uint64
	}{
		{"commit", 0, false, 1, 1},
		{"commit and project a view", 0, true, 1 + 1, 2},
		{"commit and project rows", 1, true, 1 + inserts + 1, 3},
		{"commit and project rows at once", 2, true, 1 + inserts + 1, 2},
	}
	for _, tt := range tests {
		db := open(t, newFile(t), sqlite.Config{})
		s := kinds[tt.kind].Of(db)
		record, err := s.Commit(t.Context(), "k", storetest.Record{}, storetest.Record{Body: body, Behind: true})
		if tt.project && err == nil {
			_, err = s.Project(t.Context(), "k", record)
		}
		if got := db.Stats(); err != nil || got.Statements != tt.statements || got.Transactions != tt.syncsTwo {
			t.Errorf("%s: got %+v, %v, want %d statements in %d transactions", tt.name, got, err, tt.statements, tt.syncsTwo)
		}
	}
}

func TestManyRows(t *testing.T) {
	t.Parallel()
	db := open(t, newFile(t), sqlite.Config{})
	storetest.ManyRows(t, kinds[2].Of(db), func() uint64 { return db.Stats().Transactions })
}

// TestAnyStringIsAKey: SQLite compares what it is given, NUL and bytes that are no text included.
func TestAnyStringIsAKey(t *testing.T) {
	t.Parallel()
	db := open(t, newFile(t), sqlite.Config{})
	s := sqlite.New[string](db, func(n int) int { return n })
	seen := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		key := string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 'A', '%', 0x7f, 0xc3, 0xff}), 0, 4).Draw(t, "key"))
		record, err := s.Read(t.Context(), key)
		if (record.Fence != 0) != seen[key] || err != nil {
			t.Fatalf("%q: got %v, %v, want it there: %v", key, record, err, seen[key])
		}
		if _, err := s.Commit(t.Context(), key, record, backends.Record[int]{Body: len(key)}); err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		seen[key] = true
	})
	listed := map[string]bool{}
	for key, err := range s.Keys(t.Context()) {
		if err != nil || listed[key] || !seen[key] {
			t.Errorf("%q, %v: listed before: %v, written: %v", key, err, listed[key], seen[key])
		}
		listed[key] = true
	}
	if len(listed) != len(seen) {
		t.Errorf("keys: got %d, want %d", len(listed), len(seen))
	}
}
