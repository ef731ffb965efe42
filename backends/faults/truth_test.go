package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/faults"
	"github.com/goferry/goferry/backends/internal/contract"
)

func drawMix(t *rapid.T, op string, writes bool) faults.Mix {
	rate := func(kind string) faults.Rate {
		if rapid.Bool().Draw(t, op+" counts "+kind) {
			m := rapid.IntRange(1, 4).Draw(t, op+" "+kind+" M")
			return faults.Rate{N: rapid.IntRange(0, m).Draw(t, op+" "+kind+" N"), M: m}
		}
		return faults.Rate{P: rapid.SampledFrom([]float64{0, 0.2, 0.5}).Draw(t, op+" "+kind)}
	}
	mix := faults.Mix{Throttle: rate("throttle"), Lost: rate("lost")}
	if writes {
		mix.Late = rate("late")
		mix.CrashAfter = rapid.IntRange(0, 5).Draw(t, op+" crash after")
	}
	return mix
}

// TestClassesAreTrue runs any script under any plan. Whatever was answered as done is in the store at that time;
// whatever was answered as a conflict or refused never is, not even after all late writes have landed. L33.
func TestClassesAreTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := faults.New(faults.Plan{
			Seed:   rapid.Uint64Range(0, 9).Draw(t, "seed"),
			Read:   drawMix(t, "read", false),
			Commit: drawMix(t, "commit", true),
			Put:    drawMix(t, "put", true),
			Clear:  drawMix(t, "clear", true),
			LateBy: rapid.IntRange(-1, 5).Draw(t, "late by"),
		})
		inner := contract.NewRows()
		s := script{store: faults.Rows(f, inner), inner: inner, never: map[string]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"commit":  s.commit,
			"put":     s.put,
			"clear":   s.clear,
			"land":    func(*rapid.T) { f.Land() },
			"break":   func(*rapid.T) { f.Break() },
			"heal":    func(*rapid.T) { f.Heal() },
			"crash":   func(*rapid.T) { f.Crash() },
			"restart": func(*rapid.T) { f.Restart() },
			"":        s.check,
		})
		f.Land()
		s.check(t)
	})
}

// script calls a wrapped store with new identities only, so that the store shows which calls were carried out.
type script struct {
	store backends.RowStore[string, []string, string, string]
	inner interface {
		backends.RowStore[string, []string, string, string]
		Rows(context.Context, string) ([]string, error)
	}
	calls int
	never map[string]bool // the identities that must not show up
}

func (s *script) newID() string {
	s.calls++
	return fmt.Sprint(s.calls)
}

// judge compares the answer to a write with what the store shows.
func (s *script) judge(t *rapid.T, id string, shown bool, err error) {
	e, typed := errors.AsType[*backends.Error](err)
	switch {
	case err == nil && !shown:
		t.Fatalf("%s was answered as done, and is not", id)
	case err != nil && !typed:
		t.Fatalf("%s: got %T, want a *backends.Error", id, err)
	case err != nil && e.NotWritten():
		s.never[id] = true
	}
}

// commit goes by what the store holds, or by what a read through the faults answered.
func (s *script) commit(t *rapid.T) {
	read, err := s.store.Read(ctx, "k")
	if err != nil {
		read, _ = s.inner.Read(ctx, "k")
	}
	id := s.newID()
	stored, err := s.store.Commit(ctx, "k", read, contract.Record{Body: append(slices.Clone(read.Body), id), Behind: true})
	held, _ := s.inner.Read(ctx, "k")
	s.judge(t, id, slices.Contains(held.Body, id) && stored.Fence == held.Fence, err)
}

func (s *script) put(t *rapid.T) {
	rows := make([]string, rapid.IntRange(0, 4).Draw(t, "rows"))
	for i := range rows {
		rows[i] = s.newID()
	}
	errs := s.store.Put(ctx, "k", rows)
	if len(errs) != len(rows) {
		t.Fatalf("got %v answers for %v rows", len(errs), len(rows))
	}
	held, _ := s.inner.Rows(ctx, "k")
	for i, id := range rows {
		s.judge(t, id, slices.Contains(held, id), errs[i])
	}
}

func (s *script) clear(t *rapid.T) {
	read, _ := s.inner.Read(ctx, "k")
	err := s.store.Clear(ctx, "k", read)
	held, _ := s.inner.Read(ctx, "k")
	if err == nil && (held.Behind || held.Fence == read.Fence) {
		t.Fatalf("a clear was answered as done, and is not: %v", held)
	}
}

func (s *script) check(t *rapid.T) {
	held, _ := s.inner.Read(ctx, "k")
	rows, _ := s.inner.Rows(ctx, "k")
	for _, id := range slices.Concat(held.Body, rows) {
		if s.never[id] {
			t.Fatalf("%s was answered as not written, and is", id)
		}
	}
}
