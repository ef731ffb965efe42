package projected_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/projected"
)

type seq = iter.Seq2[string, string]

func TestRowsUndisturbed(t *testing.T) {
	t.Parallel()
	s := newStore()
	got, err := perRow(0).Provide(s).Call(t.Context(), "k", []string{"a", "b"})
	wantOutcomes(t, got, err, "projected 0", "projected 1")
	wantOps(t, s, "read", "commit", "missing", "put a", "put b", "clear")
	wantList(t, "rows", s.rows["k"], "a", "b")
}

// L11, L12: one throttled row: its entry is Committed with its own cause, the rest Projected, and the call does not
// retry the verdict. A resume then writes exactly the row that is missing.
func TestL11L12ThrottledRow(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = script(&failure{"throttled"}, "put b 1")
	got, err := perRow(5).Provide(s).Call(t.Context(), "k", []string{"a", "b", "c", "bad"})
	wantOutcomes(t, got, err, "projected 0", "committed 1: throttled", "projected 2", "projected rejected")
	wantOps(t, s, "read", "commit", "missing", "put a", "put b", "put c")
	left, err := perRow(0).Provide(s).Resume(t.Context(), "k")
	if err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want nothing left", left, err)
	}
	wantOps(t, s, "read", "missing", "put b", "clear")
	wantList(t, "rows", s.rows["k"], "a", "c", "b")
}

// A lost row looks like a refused one to the writer: Committed, never Projected without evidence.
func TestLostRowIsCommitted(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = script(lost, "put a 1")
	got, err := perRow(0).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "committed 0: lost")
	if _, err := perRow(0).Provide(s).Resume(t.Context(), "k"); err != nil {
		t.Error(err)
	}
	wantOps(t, s, "read", "commit", "missing", "put a", "read", "missing", "clear")
	wantList(t, "rows", s.rows["k"], "a")
}

// Rows that a sweeper wrote first are present: not written again, and no cause.
func TestRowsASweeperWroteFirst(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = func(op string, n int) error {
		if op == "missing" && n == 1 {
			if _, err := perRow(0).Provide(s).Resume(t.Context(), "k"); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	got, err := perRow(1).Provide(s).Call(t.Context(), "k", []string{"a", "b"})
	wantOutcomes(t, got, err, "projected 0", "projected 1")
	wantList(t, "rows", s.rows["k"], "a", "b")
}

func TestPartiallyProjectedReplay(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = script(refused, "put b 1", "put b 2")
	w := perRow(0).Provide(s)
	got, err := w.Call(t.Context(), "k", []string{"a", "b"})
	wantOutcomes(t, got, err, "projected 0", "committed 1: refused")
	got, err = w.Call(t.Context(), "k", []string{"a", "b"})
	wantOutcomes(t, got, err, "projected 0", "committed 1: refused")
	got, err = w.Call(t.Context(), "k", []string{"a", "b"})
	wantOutcomes(t, got, err, "projected 0", "projected 1")
	wantList(t, "rows", s.rows["k"], "a", "b")
}

// A clear of an older record is refused, so that the marker which a later commit set stays until its row is there.
func TestRefusedStaleClear(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = func(op string, n int) error {
		if op == "clear" && n == 1 {
			s.add("k", "later")
		}
		return nil
	}
	got, err := perRow(1).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "projected 0")
	wantOps(t, s, "read", "commit", "missing", "put a", "clear", "read", "missing", "put later", "clear")
	wantList(t, "rows", s.rows["k"], "a", "later")
}

// Through the lanes each caller of one batch has its own outcome.
func TestMixedOutcomesThroughTheLanes(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = script(refused, "put b 1")
	lanes := ferry.PerKey(ferry.Config{}, func(string) string { return "k" }, perRow(0).Provide(s).Call)
	outs, errs := lanes.SubmitAll(t.Context(), []string{"a", "b", "c", "bad"})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	statuses := map[string]projected.Status{}
	for i, in := range []string{"a", "b", "c", "bad"} {
		statuses[in] = outs[i].Status
	}
	if statuses["a"] != projected.Projected || statuses["c"] != projected.Projected || statuses["bad"] != projected.Projected {
		t.Errorf("got %v, want all but b Projected", statuses)
	}
	// The batches are the lanes' business: b's row is missing until a later batch, if there is one, writes it.
	if statuses["b"] != projected.Committed {
		t.Errorf("got %v, want b Committed", statuses)
	}
	if err := lanes.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// The three rules of rows, each switched off: the scenario that they are for must then go wrong.
func TestRowRulesSwitchedOff(t *testing.T) {
	t.Parallel()
	// A put that says that all is well, so that the clear waits for nothing.
	deaf := func(s *store, ctx context.Context, key string, rows []string) []error {
		s.Put(ctx, key, rows)
		return make([]error, len(rows))
	}
	tests := []struct {
		name  string
		rules rules
		put   func(*store, context.Context, string, []string) []error
		on    func(s *store) func(string, int) error
		wrong func(s *store) bool
	}{
		{
			name: "rows are idempotent", rules: rules{unconditionalRows: true},
			on: func(s *store) func(string, int) error {
				return func(op string, n int) error {
					if op == "put a" && n == 1 {
						s.Put(context.Background(), "k", []string{"a"})
					}
					return nil
				}
			},
			wrong: func(s *store) bool { return len(s.rows["k"]) != 2 },
		},
		{
			name: "the clear waits for every row", put: deaf,
			on:    func(*store) func(string, int) error { return script(refused, "put b 1") },
			wrong: func(s *store) bool { return !s.records["k"].behind && len(s.rows["k"]) < len(s.records["k"].log) },
		},
		{
			name: "the clear is fenced", rules: rules{unfencedClear: true},
			on: func(s *store) func(string, int) error {
				return func(op string, n int) error {
					if op == "clear" && n == 1 {
						s.add("k", "later")
					}
					return nil
				}
			},
			wrong: func(s *store) bool { return !s.records["k"].behind && len(s.rows["k"]) < len(s.records["k"].log) },
		},
	}
	for _, tt := range tests {
		for _, off := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, "/off=", off), func(t *testing.T) {
				t.Parallel()
				s := newStore()
				s.on = tt.on(s)
				put := (*store).Put
				if off {
					s.rules = tt.rules
					if tt.put != nil {
						put = tt.put
					}
				}
				w := projected.New(commit(0), record.pending, projected.Rows(rowOf, (*store).Missing, put, (*store).Clear))
				if _, err := w.Provide(s).Call(t.Context(), "k", []string{"a", "b"}); err != nil {
					t.Fatal(err)
				}
				if got := tt.wrong(s); got != off {
					t.Errorf("went wrong: %v, with rows %q and %+v", got, s.rows["k"], s.records["k"])
				}
			})
		}
	}
}

func TestEntriesWithoutARowDoNotHoldTheMarker(t *testing.T) {
	t.Parallel()
	of := func(r record) seq {
		return func(yield func(string, string) bool) {
			for _, id := range r.log {
				if id != "rowless" && !yield(id, id) {
					return
				}
			}
		}
	}
	s := newStore()
	w := projected.New(commit(0), record.pending, projected.Rows(of, (*store).Missing, (*store).Put, (*store).Clear))
	got, err := w.Provide(s).Call(t.Context(), "k", []string{"a", "rowless"})
	wantOutcomes(t, got, err, "projected 0", "projected 1")
	if s.records["k"].behind {
		t.Error("the marker is still set")
	}
}

func TestWrongCountIsADefectThatNeverClears(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3} {
		put := func(*store, context.Context, string, []string) []error { return make([]error, n) }
		s := newStore()
		w := projected.New(commit(3), record.pending, projected.Rows(rowOf, (*store).Missing, put, (*store).Clear))
		got, err := w.Provide(s).Call(t.Context(), "k", []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		count, ok := errors.AsType[*projected.CountError](got[0].Err)
		if !ok || count.Got != n || count.Want != 2 || count.Key != "k" {
			t.Errorf("got %v, want the count", got[0].Err)
		}
		wantOps(t, s, "read", "commit", "missing")
	}
}

func TestChunks(t *testing.T) {
	t.Parallel()
	var chunks [][]string
	put := func(s *store, ctx context.Context, key string, rows []string) []error {
		chunks = append(chunks, slices.Clone(rows))
		return s.Put(ctx, key, rows)
	}
	s := newStore()
	s.on = script(refused, "put b 1")
	w := projected.New(commit(0), record.pending, projected.RowsChunked(2, rowOf, (*store).Missing, put, (*store).Clear))
	got, err := w.Provide(s).Call(t.Context(), "k", []string{"a", "b", "c", "d", "e"})
	wantOutcomes(t, got, err, "projected 0", "committed 1: refused", "projected 2", "projected 3", "projected 4")
	if got, want := fmt.Sprint(chunks), "[[a b] [c d] [e]]"; got != want {
		t.Errorf("got chunks %s, want %s", got, want)
	}
}

// A context that ends between two chunks: what is written counts, the rest is listed, and nothing is cleared.
func TestContextEndsBetweenChunks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newStore()
	s.on = func(op string, _ int) error {
		if op == "put a" {
			cancel()
		}
		return nil
	}
	w := projected.New(commit(3), record.pending, projected.RowsChunked(1, rowOf, (*store).Missing, (*store).Put, (*store).Clear))
	got, err := w.Provide(s).Call(ctx, "k", []string{"a", "b"})
	wantOutcomes(t, got, err, "projected 0", "committed 1: context canceled")
	wantOps(t, s, "read", "commit", "missing", "put a")
}

func TestListedWithoutACause(t *testing.T) {
	t.Parallel()
	project := func(*store, context.Context, string, record) (projected.Projection[string], error) {
		return projected.Projection[string]{"a": nil, "elsewhere": refused}, nil
	}
	got, err := projected.New(commit(0), record.pending, project).Provide(newStore()).Call(t.Context(), "k", []string{"a", "b"})
	wantOutcomes(t, got, err, "committed 0: "+projected.ErrNoCause.Error(), "projected 1")
}

// After the commit not even a panic of the user's ID fails the call.
func TestPanicOfIDIsTheCause(t *testing.T) {
	t.Parallel()
	w := perRow(0)
	w.Fold.ID = func(string) string { panic("boom") }
	s := newStore()
	s.on = script(refused, "put a 1")
	got, err := w.Provide(s).Call(t.Context(), "k", []string{"a", "b"})
	wantOutcomes(t, got, err, "committed 0: panic: boom", "committed 1: panic: boom")
}
