package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/sqlite"
)

func TestNilFunctionsPanic(t *testing.T) {
	t.Parallel()
	tests := []struct {
		want string
		make func()
	}{
		{"sqlite: New: view is nil", func() { sqlite.New[string, int, int](nil, nil) }},
		{"sqlite: NewRows: of is nil", func() { sqlite.NewRows[string, int, string, int](nil, nil, nil) }},
		{"sqlite: NewRows: id is nil", func() { sqlite.NewRows[string](nil, storetest.Of, nil) }},
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
	s := kinds[0].of(db)
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

// TestStatements counts what single calls cost: a commit is one statement, a projection one transaction.
func TestStatements(t *testing.T) {
	t.Parallel()
	const n = 10
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
		{"commit and project rows", 1, true, 1 + n + 1, 3},
		{"commit and project rows at once", 2, true, 1 + n + 1, 2},
	}
	for _, tt := range tests {
		db := open(t, newFile(t), sqlite.Config{})
		s := kinds[tt.kind].of(db)
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
	const n = 20_000
	body := storetest.Log{Entries: make([]storetest.Entry, n)}
	for i := range body.Entries {
		body.Entries[i] = storetest.Entry{ID: strconv.Itoa(i), N: i}
	}
	db := open(t, newFile(t), sqlite.Config{})
	s := kinds[2].of(db)
	record, err := s.Commit(t.Context(), "k", storetest.Record{}, storetest.Record{Body: body, Behind: true})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := s.Project(t.Context(), "k", record); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want nothing left", left, err)
	}
	if got := db.Stats().Transactions; got != 2 {
		t.Errorf("transactions: got %d, want 2", got)
	}
	if shown, err := s.Shown(t.Context(), "k"); err != nil || !slices.Equal(shown, body.Entries) {
		t.Errorf("rows: got %d, %v, want %d", len(shown), err, n)
	}
}

// TestUndecodable has a record, a key, a view and a row that another build wrote. They are left as they are, and nothing
// else is held up.
func TestUndecodable(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	db := open(t, path, sqlite.Config{})
	views, rows := sqlite.New[int](db, storetest.Show), sqlite.NewRows[int](db, storetest.Of, storetest.Entry.Ident)
	ctx := t.Context()
	for key := range 3 {
		record, err := views.Commit(ctx, key, storetest.Record{}, storetest.Record{Behind: true})
		if err == nil {
			err = views.Project(ctx, key, record)
		}
		if err == nil {
			record, err = views.Read(ctx, key)
		}
		if err == nil {
			_, err = views.Commit(ctx, key, record, storetest.Record{Body: record.Body, Behind: true})
		}
		if err := errors.Join(err, rows.Put(ctx, key, []storetest.Entry{{ID: "a"}})[0]); err != nil {
			t.Fatal(err)
		}
	}
	raw := rawFile(t, path)
	const newer = `{"Entries":null,"Added":1}`
	run(t, raw, `UPDATE record SET body = CAST('`+newer+`' AS BLOB), view = x'00' WHERE key = '1'`)
	run(t, raw, `UPDATE row SET body = x'' WHERE key = '1'`)
	run(t, raw, `INSERT INTO record (key, fence, behind, body) VALUES ('01', 1, 1, x'00')`)

	_, readErr := views.Read(ctx, 1)
	_, _, viewErr := views.View(ctx, 1)
	_, rowsErr := rows.Rows(ctx, 1)
	for op, err := range map[string]error{"read": readErr, "view": viewErr, "rows": rowsErr} {
		e, ok := errors.AsType[*backends.Error](err)
		if !ok || e.Op != op || e.Key != 1 || e.Class != backends.ErrRefused || !errors.Is(err, backends.ErrUndecodable) {
			t.Errorf("%s: got %v, want ErrUndecodable naming the key", op, err)
		}
	}
	var keys []int
	for key, err := range views.PendingKeys(ctx) {
		if e, ok := errors.AsType[*backends.Error](err); ok {
			if e.Key != "01" || !errors.Is(err, backends.ErrUndecodable) {
				t.Errorf("listing: got %v, want ErrUndecodable naming 01", err)
			}
			continue
		}
		keys = append(keys, key)
	}
	if !slices.Equal(keys, []int{0, 1, 2}) {
		t.Errorf("listed: got %v, want all that are keys", keys)
	}
	for _, key := range []int{0, 2} {
		if _, err := views.Read(ctx, key); err != nil {
			t.Errorf("key %d: %v", key, err)
		}
	}
	var body string
	if err := raw.QueryRow("SELECT body FROM record WHERE key = '1' AND behind = 1 AND fence = 3").Scan(&body); body != newer || err != nil {
		t.Errorf("the record: got %q, %v, want it as it was", body, err)
	}
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

type point struct{ X, Y int }

// pointText has a text for each point but those right of 9, which it mistakes for others.
var pointText = codec.Codec[point, string]{
	Encode: func(p point) (string, error) { return fmt.Sprintf("%d/%d", p.X%10, p.Y), nil },
	Decode: func(s string) (p point, err error) {
		_, err = fmt.Sscanf(s, "%d/%d", &p.X, &p.Y)
		return p, err
	},
}

func TestCodecs(t *testing.T) {
	t.Parallel()
	db := open(t, newFile(t), sqlite.Config{})
	ctx := t.Context()
	bytes := codec.Codec[string, []byte]{
		Encode: func(s string) ([]byte, error) { return []byte(s), nil },
		Decode: func(b []byte) (string, error) { return string(b), nil },
	}
	empty := codec.Codec[string, []byte]{
		Encode: func(string) ([]byte, error) { return nil, nil },
		Decode: func(b []byte) (string, error) { return fmt.Sprint("decoded ", len(b)), nil },
	}
	s := sqlite.New[point](db, strings.ToUpper).WithKeys(pointText).WithBodies(bytes).WithViews(empty)
	record, err := s.Commit(ctx, point{1, 2}, backends.Record[string]{}, backends.Record[string]{Body: "body", Behind: true})
	if err := errors.Join(err, s.Project(ctx, point{1, 2}, record)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(ctx, point{1, 2}); got.Body != "body" || err != nil {
		t.Errorf("got %+v, %v, want the body", got, err)
	}
	if got, ok, err := s.View(ctx, point{1, 2}); got != "decoded 0" || !ok || err != nil {
		t.Errorf("got view %q, %v, %v, want an empty one", got, ok, err)
	}
	if _, err := s.Read(ctx, point{11, 2}); className(err) != "refused" {
		t.Errorf("a key that is stored as another: got %v, want it refused", err)
	}

	of := func(log []int) iter.Seq2[point, string] {
		return func(yield func(point, string) bool) {
			for _, x := range log {
				if !yield(point{X: x}, fmt.Sprint("row ", x)) {
					return
				}
			}
		}
	}
	id := func(row string) (p point) {
		fmt.Sscanf(row, "row %d", &p.X)
		return p
	}
	rows := sqlite.NewRows[string](db, of, id).WithIDs(pointText).WithRows(bytes)
	logged, err := rows.Commit(ctx, "rows", backends.Record[[]int]{}, backends.Record[[]int]{Body: []int{1, 12, 3}, Behind: true})
	if err != nil {
		t.Fatal(err)
	}
	// One row has no identity that could be stored: the others are written, and the record stays pending.
	left, err := rows.ProjectRows(ctx, "rows", logged)
	if err != nil || len(left) != 1 || className(left[point{X: 12}]) != "refused" {
		t.Errorf("got %v, %v, want the row of 12 left", left, err)
	}
	if got, err := rows.Rows(ctx, "rows"); !slices.Equal(got, []string{"row 1", "row 3"}) || err != nil {
		t.Errorf("rows: got %v, %v, want those of 1 and 3", got, err)
	}
	if got, err := rows.Read(ctx, "rows"); got.Fence != logged.Fence || !got.Behind || err != nil {
		t.Errorf("got %+v, %v, want it pending", got, err)
	}
	if errs := rows.Put(ctx, "rows", []string{"row 12", "row 5", "row 1"}); className(errs[0]) != "refused" || errs[1] != nil || errs[2] != nil {
		t.Errorf("put: got %v, want the first refused", errs)
	}
	if _, err := rows.Missing(ctx, "rows", logged); className(err) != "refused" {
		t.Errorf("missing: got %v, want it refused", err)
	}
}

// TestUnencodable has keys and bodies that cannot be stored. Nothing is written, and that is known.
func TestUnencodable(t *testing.T) {
	t.Parallel()
	db := open(t, newFile(t), sqlite.Config{})
	ctx := t.Context()
	none := backends.Record[float64]{}
	floats := sqlite.New[float64](db, func(f float64) float64 { return math.NaN() })
	bodies := sqlite.New[string](db, func(f float64) float64 { return math.NaN() })
	stored, err := bodies.Commit(ctx, "k", none, backends.Record[float64]{Body: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, keyErr := floats.Read(ctx, 1)
	_, commitKeyErr := floats.Commit(ctx, 1, none, none)
	_, bodyErr := bodies.Commit(ctx, "other", none, backends.Record[float64]{Body: math.NaN()})
	for name, err := range map[string]error{
		"read of a float":          keyErr,
		"commit of a float":        commitKeyErr,
		"project of a float":       floats.Project(ctx, 1, stored),
		"delete of a float":        floats.Delete(ctx, 1, stored),
		"a body that is no number": bodyErr,
		"a view that is no number": bodies.Project(ctx, "k", stored),
	} {
		if className(err) != "refused" {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
	}
	for key := range bodies.Keys(context.WithoutCancel(ctx)) {
		if key != "k" {
			t.Errorf("got key %q, want k alone", key)
		}
	}
}
