package durable_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
	"github.com/goferry/goferry/backends/durable"
	"github.com/goferry/goferry/backends/internal/contract"
	"github.com/goferry/goferry/backends/internal/storetest"
)

// kinds are the ways to use an engine: a view of one object per record, one row per entry, and that in one transaction.
var kinds = []struct {
	name  string
	model func() storetest.Subject
	of    func(engine durable.Engine) storetest.Subject
}{
	{"views", storetest.MemoryViews, func(engine durable.Engine) storetest.Subject {
		return storetest.OfViews(durable.New[string](engine, storetest.Show))
	}},
	{"rows", storetest.MemoryRows, func(engine durable.Engine) storetest.Subject {
		return storetest.OfRows(newRows(engine))
	}},
	{"rows at once", storetest.MemoryRowsAtOnce, func(engine durable.Engine) storetest.Subject {
		return storetest.OfRowsBy(newRows(engine), (*rowStore).ProjectRows)
	}},
}

type rowStore = durable.RowStore[string, storetest.Log, string, storetest.Entry]

func newRows(engine durable.Engine) *rowStore {
	return durable.NewRows[string](engine, storetest.Of, storetest.Entry.Ident)
}

func TestContract(t *testing.T) {
	t.Parallel()
	t.Run("views", func(t *testing.T) {
		t.Parallel()
		contract.Test(t, func() contract.Subject {
			s := durable.New[string](newMaps(), slices.Clone[[]string])
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
			s := durable.NewRows[string](newMaps(), contract.RowsOf, func(row string) string { return row })
			return contract.Subject{Store: s, Settle: s.Clear, Delete: s.Delete, View: s.Rows, Rows: s}
		})
	})
}

func TestModel(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			storetest.Model(t, kind.of(newMaps()), kind.model)
		})
	}
}

func TestNilArgumentsPanic(t *testing.T) {
	t.Parallel()
	engine := newMaps()
	tests := []struct {
		want string
		make func()
	}{
		{"durable: New: engine is nil", func() { durable.New[string](nil, storetest.Show) }},
		{"durable: New: view is nil", func() { durable.New[string, int, int](engine, nil) }},
		{"durable: NewRows: engine is nil", func() { newRows(nil) }},
		{"durable: NewRows: of is nil", func() { durable.NewRows[string, int, string, int](engine, nil, nil) }},
		{"durable: NewRows: id is nil", func() { durable.NewRows[string](engine, storetest.Of, nil) }},
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

// TestFailures has an engine fail: its class and cause are kept, with the operation and the key put to them.
func TestFailures(t *testing.T) {
	t.Parallel()
	engine, cause := newMaps(), errors.New("cause")
	views, rows := durable.New[int](engine, storetest.Show), durable.NewRows[int](engine, storetest.Of, storetest.Entry.Ident)
	ended, cancel := context.WithCancel(t.Context())
	record := storetest.Record{Body: storetest.Log{Entries: []storetest.Entry{{ID: "a"}}}, Fence: 1}
	calls := map[string]func(context.Context) error{
		"read":    func(ctx context.Context) error { _, err := views.Read(ctx, 7); return err },
		"commit":  func(ctx context.Context) error { _, err := views.Commit(ctx, 7, record, record); return err },
		"project": func(ctx context.Context) error { return views.Project(ctx, 7, record) },
		"delete":  func(ctx context.Context) error { return views.Delete(ctx, 7, record) },
		"view":    func(ctx context.Context) error { _, _, err := views.View(ctx, 7); return err },
		"clear":   func(ctx context.Context) error { return rows.Clear(ctx, 7, record) },
		"missing": func(ctx context.Context) error { _, err := rows.Missing(ctx, 7, record); return err },
		"rows":    func(ctx context.Context) error { _, err := rows.Rows(ctx, 7); return err },
		"put":     func(ctx context.Context) error { return rows.Put(ctx, 7, []storetest.Entry{{}})[0] },
	}
	check := func(ctx context.Context, class, cause error) {
		for op, call := range calls {
			e, ok := errors.AsType[*backends.Error](call(ctx))
			if !ok || e.Op != op || e.Key != 7 || e.Class != class || !errors.Is(e.Err, cause) {
				t.Errorf("%s: got %v, want %v: %v", op, e, class, cause)
			}
		}
		for _, err := range views.Keys(ctx) {
			if e, ok := errors.AsType[*backends.Error](err); !ok || e.Op != "list" || e.Key != nil || e.Class != class {
				t.Errorf("list: got %v, want %v", err, class)
			}
		}
	}
	for _, class := range []error{backends.ErrConflict, backends.ErrRefused, backends.ErrUnknown} {
		engine.fail = &backends.Error{Op: "the engine's", Class: class, Err: cause}
		check(t.Context(), class, cause)
	}
	engine.fail = cause
	check(t.Context(), backends.ErrUnknown, cause)
	cancel()
	check(ended, backends.ErrUnknown, context.Canceled)
}

// TestContextThatEndsOnTheWay explains a failure that is not definite, and leaves one that is.
func TestContextThatEndsOnTheWay(t *testing.T) {
	t.Parallel()
	for _, class := range []error{backends.ErrConflict, backends.ErrUnknown} {
		ctx, cancel := context.WithCancel(t.Context())
		engine := newMaps()
		s := durable.New[string](ending{engine, cancel, class}, storetest.Show)
		_, err := s.Commit(ctx, "k", storetest.Record{}, storetest.Record{})
		if !errors.Is(err, class) || errors.Is(err, context.Canceled) != (class == backends.ErrUnknown) {
			t.Errorf("got %v, want %v", err, class)
		}
	}
}

// ending is an engine during whose commit the context ends.
type ending struct {
	durable.Engine
	end   func()
	class error
}

func (e ending) Commit(context.Context, string, backends.Fence, durable.StoredRecord) (durable.StoredRecord, error) {
	e.end()
	return durable.StoredRecord{}, &backends.Error{Class: e.class}
}

// TestUndecodable has a record, a key, a view and a row that another build wrote. They are left as they are, and
// nothing else is held up.
func TestUndecodable(t *testing.T) {
	t.Parallel()
	engine := newMaps()
	newer := []byte(`{"Entries":null,"Added":1}`)
	engine.records["1"] = durable.StoredRecord{Fence: 1, Behind: true, Body: newer}
	engine.records["01"] = durable.StoredRecord{Fence: 2, Behind: true}
	engine.records["2"] = durable.StoredRecord{Fence: 3, Behind: true, Body: []byte("{}")}
	engine.views["1"] = []byte("x")
	engine.rows["1"] = []durable.StoredRow{{ID: "a", Body: []byte("x")}}
	views, rows := durable.New[int](engine, storetest.Show), durable.NewRows[int](engine, storetest.Of, storetest.Entry.Ident)
	ctx := t.Context()
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
	if !slices.Equal(keys, []int{1, 2}) {
		t.Errorf("listed: got %v, want all that are keys", keys)
	}
	if _, err := views.Read(ctx, 2); err != nil {
		t.Errorf("another key: %v", err)
	}
	if held := engine.records["1"]; string(held.Body) != string(newer) || !held.Behind || held.Fence != 1 {
		t.Errorf("got %+v, want the record as it was", held)
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
	engine := newMaps()
	ctx := t.Context()
	bytes := codec.Codec[string, []byte]{
		Encode: func(s string) ([]byte, error) { return []byte(s), nil },
		Decode: func(b []byte) (string, error) { return string(b), nil },
	}
	empty := codec.Codec[string, []byte]{
		Encode: func(string) ([]byte, error) { return nil, nil },
		Decode: func(b []byte) (string, error) { return fmt.Sprint("decoded ", len(b)), nil },
	}
	s := durable.New[point](engine, strings.ToUpper).WithKeys(pointText).WithBodies(bytes).WithViews(empty)
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
	if _, err := s.Read(ctx, point{11, 2}); !errors.Is(err, backends.ErrRefused) {
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
	rows := durable.NewRows[string](engine, of, id).WithIDs(pointText).WithRows(bytes)
	logged, err := rows.Commit(ctx, "rows", backends.Record[[]int]{}, backends.Record[[]int]{Body: []int{1, 12, 3}, Behind: true})
	if err != nil {
		t.Fatal(err)
	}
	// One row has no identity that could be stored: the others are written, and the record stays pending.
	left, err := rows.ProjectRows(ctx, "rows", logged)
	if err != nil || len(left) != 1 || !errors.Is(left[point{X: 12}], backends.ErrRefused) {
		t.Errorf("got %v, %v, want the row of 12 left", left, err)
	}
	if got, err := rows.Rows(ctx, "rows"); !slices.Equal(got, []string{"row 1", "row 3"}) || err != nil {
		t.Errorf("rows: got %v, %v, want those of 1 and 3", got, err)
	}
	if got, err := rows.Read(ctx, "rows"); got.Fence != logged.Fence || !got.Behind || err != nil {
		t.Errorf("got %+v, %v, want it pending", got, err)
	}
	if errs := rows.Put(ctx, "rows", []string{"row 12", "row 5", "row 1"}); !errors.Is(errs[0], backends.ErrRefused) || errs[1] != nil || errs[2] != nil {
		t.Errorf("put: got %v, want the first refused", errs)
	}
	if _, err := rows.Missing(ctx, "rows", logged); !errors.Is(err, backends.ErrRefused) {
		t.Errorf("missing: got %v, want it refused", err)
	}
	// Rows that are there are not written again: that this build cannot encode them holds nothing up.
	mute := rows.WithRows(codec.Codec[string, []byte]{Encode: func(string) ([]byte, error) { return nil, errors.ErrUnsupported }})
	logged, err = mute.Commit(ctx, "rows", logged, backends.Record[[]int]{Body: []int{1, 3, 4}, Behind: true})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := mute.ProjectRows(ctx, "rows", logged); err != nil || len(left) != 1 || !errors.Is(left[point{X: 4}], errors.ErrUnsupported) {
		t.Errorf("got %v, %v, want the row of 4 left", left, err)
	}
}

// TestUnencodable has keys and bodies that cannot be stored. Nothing is written, and that is known.
func TestUnencodable(t *testing.T) {
	t.Parallel()
	engine := newMaps()
	ctx := t.Context()
	none := backends.Record[float64]{}
	floats := durable.New[float64](engine, func(f float64) float64 { return math.NaN() })
	bodies := durable.New[string](engine, func(f float64) float64 { return math.NaN() })
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
		if !errors.Is(err, backends.ErrRefused) {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
	}
	for key := range bodies.Keys(ctx) {
		if key != "k" {
			t.Errorf("got key %q, want k alone", key)
		}
	}
}
