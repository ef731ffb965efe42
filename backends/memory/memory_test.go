package memory_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/contract"
	"github.com/goferry/goferry/backends/memory"
)

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	contract.Test(t, func() contract.Subject { return contract.OfView(contract.NewView()) })
}

func TestRowStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	contract.Test(t, func() contract.Subject { return contract.OfRows(contract.NewRows()) })
}

func TestNilFunctionsPanic(t *testing.T) {
	t.Parallel()
	of := contract.RowsOf
	tests := []struct {
		want string
		make func()
	}{
		{"memory: New: view is nil", func() { memory.New[string, int, int](nil) }},
		{"memory: NewRows: of is nil", func() { memory.NewRows[string, int, int, int](nil, nil) }},
		{"memory: NewRows: id is nil", func() { memory.NewRows[string](of, nil) }},
	}
	for _, tt := range tests {
		if got := panicOf(tt.make); got != tt.want {
			t.Errorf("got panic %v, want %v", got, tt.want)
		}
	}
}

func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// TestPanickingViewLeavesTheStore has a view and a row function that panic: nothing is written, and the store goes on.
func TestPanickingViewLeavesTheStore(t *testing.T) {
	t.Parallel()
	panics := true
	bomb := func() {
		if panics {
			panic("bomb")
		}
	}
	views := memory.New[string](func(n int) int { bomb(); return n })
	rows := memory.NewRows[string](
		func(n int) iter.Seq2[int, int] {
			bomb()
			return slices.All(make([]int, n))
		},
		func(row int) int { bomb(); return row })
	ctx := t.Context()
	stored, _ := views.Commit(ctx, "k", backends.Record[int]{}, backends.Record[int]{Body: 1, Behind: true})
	tests := []struct {
		name string
		call func() error
	}{
		{"project", func() error { return views.Project(ctx, "k", stored) }},
		{"missing", func() error { _, err := rows.Missing(ctx, "k", stored); return err }},
		{"put", func() error { return errors.Join(rows.Put(ctx, "k", []int{0, 1})...) }},
	}
	for _, tt := range tests {
		if got := panicOf(func() { tt.call() }); got != "bomb" {
			t.Errorf("%s: got panic %v, want bomb", tt.name, got)
		}
	}
	if held, err := views.Read(ctx, "k"); held != stored || err != nil {
		t.Errorf("got %v, %v after the panics, want %v", held, err, stored)
	}
	if _, ok, _ := views.View(ctx, "k"); ok {
		t.Error("got a view after a panic, want none")
	}
	if got, err := rows.Rows(ctx, "k"); len(got) > 0 || err != nil {
		t.Errorf("got rows %v, %v after a panic, want none", got, err)
	}
	panics = false
	for _, tt := range tests {
		if err := tt.call(); err != nil {
			t.Errorf("%s after the panics: %v", tt.name, err)
		}
	}
}

// TestUserFunctionsMayUseTheStore would block for ever if a lock were held while they run.
func TestUserFunctionsMayUseTheStore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var views *memory.Store[string, int, int]
	views = memory.New[string](func(n int) int {
		held, _ := views.Read(ctx, "k")
		return held.Body
	})
	stored, _ := views.Commit(ctx, "k", backends.Record[int]{}, backends.Record[int]{Body: 7, Behind: true})
	if err := views.Project(ctx, "k", stored); err != nil {
		t.Error(err)
	}
	if got, _, _ := views.View(ctx, "k"); got != 7 {
		t.Errorf("got view %v, want 7", got)
	}
	var rows *memory.RowStore[string, []string, string, string]
	look := func() { rows.Rows(ctx, "k") }
	rows = memory.NewRows[string](
		func(log []string) iter.Seq2[string, string] { look(); return contract.RowsOf(log) },
		func(row string) string { look(); return row })
	if errs := rows.Put(ctx, "k", []string{"a"}); errs[0] != nil {
		t.Error(errs[0])
	}
	if missing, err := rows.Missing(ctx, "k", contract.Record{Body: []string{"a", "b"}}); !slices.Equal(missing, []string{"b"}) {
		t.Errorf("got missing %v, %v, want [b]", missing, err)
	}
}

// TestListingsAreSnapshots changes the store from inside a listing, and leaves one early.
func TestListingsAreSnapshots(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := memory.New[int](func(n int) int { return n })
	mark := func(key int) {
		if _, err := store.Commit(ctx, key, backends.Record[int]{}, backends.Record[int]{Behind: true}); err != nil {
			t.Error(err)
		}
	}
	for key := range 3 {
		mark(key)
	}
	for _, list := range []func(context.Context) iter.Seq2[int, error]{store.PendingKeys, store.Keys} {
		listing, before := list(ctx), 0
		for range listing {
			before++
		}
		listed := 0
		for key, err := range listing {
			if err != nil {
				t.Error(err)
			}
			mark(100*before + key)
			listed++
		}
		if listed != before {
			t.Errorf("got %v keys, want the %v of before", listed, before)
		}
		for range listing {
			break
		}
	}
}

func TestEndedContexts(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	views, rows := contract.NewView(), contract.NewRows()
	stored, _ := views.Commit(t.Context(), "k", contract.Record{}, contract.Record{})
	tests := []struct {
		op   string
		call func() error
	}{
		{"read", func() error { _, err := views.Read(ended, "k"); return err }},
		{"view", func() error { _, _, err := views.View(ended, "k"); return err }},
		{"rows", func() error { _, err := rows.Rows(ended, "k"); return err }},
		{"missing", func() error { _, err := rows.Missing(ended, "k", contract.Record{}); return err }},
		{"commit", func() error { _, err := views.Commit(ended, "k", stored, stored); return err }},
		{"project", func() error { return views.Project(ended, "k", stored) }},
		{"delete", func() error { return views.Delete(ended, "k", stored) }},
		{"put", func() error { return errors.Join(rows.Put(ended, "k", []string{"a", "b"})...) }},
		{"list", func() error {
			for _, err := range views.Keys(ended) {
				return err
			}
			return nil
		}},
	}
	for _, tt := range tests {
		err := tt.call()
		if e, ok := errors.AsType[*backends.Error](err); !ok || e.Op != tt.op || e.Class != backends.ErrUnknown || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want its unknown outcome", tt.op, err)
		}
	}
	if held, err := views.Read(t.Context(), "k"); held.Fence != stored.Fence || err != nil {
		t.Errorf("got fence %v, %v, want %v: nothing was written", held.Fence, err, stored.Fence)
	}
}

// TestKeyUnequalToItself: a record under NaN would never be found again, and never go away.
func TestKeyUnequalToItself(t *testing.T) {
	t.Parallel()
	store := memory.New[float64](func(n int) int { return n })
	_, err := store.Commit(t.Context(), math.NaN(), backends.Record[int]{}, backends.Record[int]{Behind: true})
	if !errors.Is(err, backends.ErrRefused) {
		t.Errorf("got %v, want it refused", err)
	}
	for key := range store.Keys(t.Context()) {
		t.Errorf("got key %v, want none", key)
	}
}

func TestDeletedKeyLosesItsView(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	views := contract.NewView()
	stored, _ := views.Commit(ctx, "k", contract.Record{}, contract.Record{Body: []string{"a"}, Behind: true})
	err := views.Project(ctx, "k", stored)
	settled, _ := views.Read(ctx, "k")
	if err := errors.Join(err, views.Delete(ctx, "k", settled)); err != nil {
		t.Error(err)
	}
	if view, ok, err := views.View(ctx, "k"); ok || err != nil {
		t.Errorf("got view %v, %v, want none", view, err)
	}
	rows := contract.NewRows()
	stored, _ = rows.Commit(ctx, "k", contract.Record{}, contract.Record{Body: []string{"a"}, Behind: true})
	if err := errors.Join(append(rows.Put(ctx, "k", []string{"a"}), rows.Delete(ctx, "k", stored))...); err != nil {
		t.Error(err)
	}
	if got, err := rows.Rows(ctx, "k"); len(got) > 0 || err != nil {
		t.Errorf("got rows %v, %v, want none", got, err)
	}
	if missing, _ := rows.Missing(ctx, "k", stored); !slices.Equal(missing, []string{"a"}) {
		t.Errorf("got missing %v, want the deleted row [a]", missing)
	}
	for key := range rows.PendingKeys(ctx) {
		t.Errorf("got pending key %v, want none", key)
	}
}

// TestHandedOutRowsAreTheCallers: what a caller does to the slice of rows is not seen by the next.
func TestHandedOutRowsAreTheCallers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := contract.NewRows()
	store.Put(ctx, "k", []string{"a", "b"})
	got, _ := store.Rows(ctx, "k")
	got[0] = "changed"
	_ = append(got, "added")
	store.Put(ctx, "k", []string{"c"})
	if rows, err := store.Rows(ctx, "k"); !slices.Equal(rows, []string{"a", "b", "c"}) {
		t.Errorf("got rows %v, %v, want [a b c]", rows, err)
	}
}

// TestEverythingAtOnce is for the race detector: all methods on few keys. What they leave is whole.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := contract.NewRows()
	keys := []string{"a", "b", "c"}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for n := range 200 {
				key := keys[(worker+n)%len(keys)]
				read, _ := store.Read(ctx, key)
				switch n % 8 {
				case 0, 1, 2:
					next := contract.Record{Body: append(slices.Clone(read.Body), key), Behind: true}
					store.Commit(ctx, key, read, next)
				case 3:
					missing, _ := store.Missing(ctx, key, read)
					store.Put(ctx, key, missing)
				case 4:
					store.Clear(ctx, key, read)
				case 5:
					store.Delete(ctx, key, read)
				case 6:
					for range store.PendingKeys(ctx) {
					}
				case 7:
					store.Rows(ctx, key)
				}
			}
		})
	}
	all.Wait()
	pending := map[string]bool{}
	for key := range store.PendingKeys(ctx) {
		pending[key] = true
	}
	for _, key := range keys {
		held, _ := store.Read(ctx, key)
		if held.Behind != pending[key] {
			t.Errorf("%s: got pending %v, want %v", key, pending[key], held.Behind)
		}
		if rows, _ := store.Rows(ctx, key); len(rows) > 1 {
			t.Errorf("%s: got rows %v, want one at most", key, rows)
		}
	}
}
