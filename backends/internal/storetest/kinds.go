package storetest

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/goferry/goferry/projected"
)

// Kind is a way to use a database.
type Kind[DB any] struct {
	Name  string
	Model func() Subject // The memory store, used in this way.
	Of    func(DB) Subject
}

// RowsAtOnce is a store of rows that does a whole projection in one call.
type RowsAtOnce interface {
	Rows
	ProjectRows(ctx context.Context, key string, record Record) (projected.Projection[string], error)
}

// Kinds are a view of one object per record, one row per entry, and that in one call.
func Kinds[DB any, R RowsAtOnce](views func(DB) Views, rows func(DB) R) []Kind[DB] {
	return []Kind[DB]{
		{"views", MemoryViews, func(db DB) Subject { return OfViews(views(db)) }},
		{"rows", MemoryRows, func(db DB) Subject { return OfRows(rows(db)) }},
		{"rows at once", MemoryRowsAtOnce, func(db DB) Subject { return OfRowsBy(rows(db), R.ProjectRows) }},
	}
}

// ManyRows projects 20,000 rows at once. With the commit before it that is two transactions.
func ManyRows(t *testing.T, s Subject, transactions func() uint64) {
	t.Helper()
	const n = 20_000
	var log Log
	for i := range n {
		log.Entries = append(log.Entries, Entry{ID: strconv.Itoa(i), N: i})
	}
	record, err := s.Commit(t.Context(), "many", none, Record{Body: log, Behind: true})
	if err != nil {
		t.Fatal(err)
	}
	mustProject(t, s, "many", record)
	if got := transactions(); got != 2 {
		t.Errorf("transactions: got %d, want 2", got)
	}
	if shown, err := s.Shown(t.Context(), "many"); err != nil || !slices.Equal(shown, log.Entries) {
		t.Errorf("rows: got %d, %v, want %d, in their order", len(shown), err, n)
	}
}
