package projected_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// say renders an outcome for comparisons.
func say(o outcome) string {
	if o.Err == nil {
		return fmt.Sprint(o.Status, " ", o.Result)
	}
	return fmt.Sprint(o.Status, " ", o.Result, ": ", o.Err)
}

func wantOutcomes(t *testing.T, got []outcome, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v, want outcomes %q", err, want)
	}
	var said []string
	for _, o := range got {
		said = append(said, say(o))
	}
	if !slices.Equal(said, want) {
		t.Errorf("got outcomes %q, want %q", said, want)
	}
}

func wantOps(t *testing.T, s *store, want ...string) {
	t.Helper()
	if got := s.take(); !slices.Equal(got, want) {
		t.Errorf("got operations %q, want %q", got, want)
	}
}

func wantList(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %s %q, want %q", what, got, want)
	}
}

// script answers err to the operations that are named as "op n".
func script(err error, ops ...string) func(string, int) error {
	return func(op string, n int) error {
		if slices.Contains(ops, fmt.Sprint(op, " ", n)) {
			return err
		}
		return nil
	}
}

func TestUndisturbedCallReadsCommitsProjects(t *testing.T) {
	t.Parallel()
	s := newStore()
	got, err := whole(3).Provide(s).Call(t.Context(), "k", []string{"a", "bad", "b"})
	wantOutcomes(t, got, err, "projected 0", "projected rejected", "projected 1")
	wantOps(t, s, "read", "commit", "project")
	wantList(t, "view", s.views["k"], "a", "b")
}

func TestReplayOfAProjectedEntryIsOneRead(t *testing.T) {
	t.Parallel()
	s := newStore()
	w := whole(3).Provide(s)
	_, _ = w.Call(t.Context(), "k", []string{"a"})
	s.take()
	got, err := w.Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "projected 0")
	wantOps(t, s, "read")
}

// A replay after a crash between the two writes finds its input committed and the record pending, and finishes it.
func TestL14ReplayFinishesAPendingRecord(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.add("k", "a")
	got, err := whole(0).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "projected 0")
	wantOps(t, s, "read", "project")
	wantList(t, "view", s.views["k"], "a")
}

func TestL14NextBatchCoversEverythingUnprojected(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.add("k", "a", "b")
	got, err := whole(0).Provide(s).Call(t.Context(), "k", []string{"c"})
	wantOutcomes(t, got, err, "projected 2")
	wantList(t, "view", s.views["k"], "a", "b", "c")
}

func TestConflictingCommitIsFoldedAgain(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = func(op string, n int) error {
		if op == "commit" && n == 1 {
			s.add("k", "rival")
		}
		return nil
	}
	got, err := whole(1).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "projected 1")
	wantOps(t, s, "read", "commit", "read", "commit", "project")
	wantList(t, "view", s.views["k"], "rival", "a")
}

func TestLostCommitIsFoundAndProjected(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = script(lost, "commit 1")
	got, err := whole(1).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "projected 0")
	wantOps(t, s, "read", "commit", "read", "project")
}

// The projection landed and its answer was lost: the re-read finds nothing pending.
func TestLostProjectionIsFoundDone(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = script(lost, "project 1")
	got, err := whole(1).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "projected 0")
	wantOps(t, s, "read", "commit", "project", "read")
	wantList(t, "view", s.views["k"], "a")
}

func TestRefusedProjectionIsResumed(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = script(refused, "project 1", "project 2")
	got, err := whole(1).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "projected 0")
	wantOps(t, s, "read", "commit", "project", "read", "project", "read", "project")
}

// A sweeper projects the record first: the fence refuses ours, and the re-read finds nothing pending.
func TestRacedProjectionLandsOnce(t *testing.T) {
	t.Parallel()
	for _, unfenced := range []bool{false, true} {
		s := newStore()
		s.unfencedProject = unfenced
		s.on = func(op string, n int) error {
			if op == "project" && n == 1 {
				_, err := whole(0).Provide(s).Resume(t.Context(), "k")
				return err
			}
			return nil
		}
		got, err := whole(1).Provide(s).Call(t.Context(), "k", []string{"a"})
		wantOutcomes(t, got, err, "projected 0")
		if once := len(s.views["k"]) == 1; once == unfenced {
			t.Errorf("unfenced %v: got view %q", unfenced, s.views["k"])
		}
	}
}

// A projection of a stale record must not clear the marker that a later commit set.
func TestStaleProjectionLeavesTheMarker(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = func(op string, n int) error {
		if op == "project" && n == 1 {
			s.add("k", "later")
		}
		return nil
	}
	got, err := whole(0).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "projected 0")
	wantList(t, "view", s.views["k"], "a", "later")
	wantOps(t, s, "read", "commit", "project", "read", "project")
}

// L10: exhausted retries of the commit fail the call; nothing is projected.
func TestL10CommitNotKnownFailsTheCall(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = script(refused, "commit 1", "commit 2")
	got, err := whole(1).Provide(s).Call(t.Context(), "k", []string{"a"})
	e, ok := errors.AsType[*fold.Error](err)
	if got != nil || !ok || e.Attempts != 2 || !errors.Is(err, refused) {
		t.Errorf("got %v, %v, want the fold's error after 2 attempts", got, err)
	}
	wantOps(t, s, "read", "commit", "read", "commit")
}

// Exhausted retries of the projection: the first try and 1+n of Resume, and every input Committed with the last cause.
func TestExhaustedProjectionIsCommitted(t *testing.T) {
	t.Parallel()
	for retries := range 3 {
		s := newStore()
		tries := 0
		s.on = func(op string, n int) error {
			if op == "project" {
				tries = n
				return &failure{fmt.Sprint("refused ", n)}
			}
			return nil
		}
		got, err := whole(retries).Provide(s).Call(t.Context(), "k", []string{"a", "b"})
		last := fmt.Sprint("refused ", retries+2)
		wantOutcomes(t, got, err, "committed 0: "+last, "committed 1: "+last)
		if tries != retries+2 {
			t.Errorf("got %d projections, want %d", tries, retries+2)
		}
		if cause, ok := got[0].Cause(); !ok || cause.what != last {
			t.Errorf("got cause %v, want %s", cause, last)
		}
		if left, err := whole(0).Provide(s).Resume(t.Context(), "k"); err == nil || left != nil {
			t.Errorf("got %v, %v, want the failure", left, err)
		}
	}
}

// The last cause is what failed last, be it the read of a resume.
func TestFailedResumeReadIsTheCause(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = func(op string, n int) error {
		switch {
		case op == "project":
			return refused
		case op == "read" && n > 1:
			return &failure{"unreadable"}
		}
		return nil
	}
	got, err := whole(1).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "committed 0: unreadable")
}

// L10: after the commit no defect, panic or ended context fails the call, and none is retried.
func TestL10AfterTheCommitNothingFailsTheCall(t *testing.T) {
	t.Parallel()
	defect := errors.New("defect")
	tests := []struct {
		name    string
		pending func(record) bool
		project func(cancel func()) error
		cause   string
		is      error
	}{
		{name: "defect", project: func(func()) error { return defect }, cause: "defect", is: defect},
		{name: "panic", project: func(func()) error { panic("boom") }, cause: "panic: boom"},
		{name: "panic of pending", pending: func(record) bool { panic("boom") }, cause: "panic: boom"},
		{name: "panic with a typed failure", project: func(func()) error { panic(refused) }, cause: "panic: refused"},
		{name: "ended context", project: func(cancel func()) error { cancel(); return context.Canceled }, is: context.Canceled},
		{name: "typed failure in an ended context", project: func(cancel func()) error { cancel(); return refused }, is: refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := newStore()
			s.on = func(op string, _ int) error {
				if op == "project" {
					return tt.project(cancel)
				}
				return nil
			}
			w := whole(5)
			if tt.pending != nil {
				w.Pending = tt.pending
			}
			got, err := w.Provide(s).Call(ctx, "k", []string{"a"})
			if err != nil || got[0].Status != projected.Committed || got[0].Result != "0" {
				t.Fatalf("got %v, %v, want Committed", got, err)
			}
			if tt.is != nil && !errors.Is(got[0].Err, tt.is) {
				t.Errorf("got cause %v, want %v", got[0].Err, tt.is)
			}
			if tt.cause != "" && got[0].Err.Error() != tt.cause {
				t.Errorf("got cause %v, want %v", got[0].Err, tt.cause)
			}
			if tries := strings.Count(strings.Join(s.take(), " "), "project"); tries > 1 {
				t.Errorf("got %d projections: it was retried", tries)
			}
		})
	}
}

// A context that ends during the commit that succeeds: nothing more is done, and the inputs are Committed.
func TestL10ContextEndsInTheCommit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newStore()
	s.on = func(op string, _ int) error {
		if op == "commit" {
			cancel()
		}
		return nil
	}
	got, err := whole(5).Provide(s).Call(ctx, "k", []string{"a"})
	wantOutcomes(t, got, err, "committed 0: context canceled")
	wantOps(t, s, "read", "commit")
}

func TestPanicInResumeIsTheCause(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = func(op string, n int) error {
		switch {
		case op == "project" && n == 1:
			return refused
		case op == "read" && n == 2:
			panic("boom")
		}
		return nil
	}
	got, err := whole(5).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "committed 0: panic: boom")
	s.on = func(string, int) error { panic("boom") }
	_, err = whole(5).Provide(s).Resume(t.Context(), "k")
	if p, ok := errors.AsType[*fold.PanicError](err); !ok || len(p.Stack) == 0 || !strings.Contains(err.Error(), "k") {
		t.Errorf("got %v, want the panic and the key", err)
	}
}

// With E = error everything is typed, but panics and ended contexts are still looked at first.
func TestErrorAsE(t *testing.T) {
	t.Parallel()
	tries := 0
	f := fold.New[error](ident, (*store).Read, step, (*store).Commit, schedule.Recurs(2))
	w := projected.WholeRecord(f, record.pending, func(*store, context.Context, string, record) error {
		if tries++; tries == 1 {
			return errors.New("anything")
		}
		panic("boom")
	})
	got, err := w.Provide(newStore()).Call(t.Context(), "k", []string{"a"})
	if err != nil || tries != 2 || got[0].Err.Error() != "panic: boom" {
		t.Errorf("got %v, %v after %d tries, want one resume and its panic", got, err, tries)
	}
}

func TestL13ResumeWithNothingPendingIsOneRead(t *testing.T) {
	t.Parallel()
	s := newStore()
	left, err := whole(3).Provide(s).Resume(t.Context(), "k")
	if err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want nothing left", left, err)
	}
	wantOps(t, s, "read")
}

func TestL13ConcurrentResumesLandOnce(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.add("k", "a", "b")
	done := make(chan error, 8)
	for range cap(done) {
		go func() {
			_, err := whole(20).Provide(s).Resume(t.Context(), "k")
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	wantList(t, "view", s.views["k"], "a", "b")
}

func TestL28PendingOfTheZeroRecord(t *testing.T) {
	t.Parallel()
	s := newStore()
	got, err := whole(0).Provide(s).Call(t.Context(), "new", []string{"bad"})
	wantOutcomes(t, got, err, "projected rejected")
	wantOps(t, s, "read")
}

// L15: nothing is kept between calls: another value, as in another process, goes on from what the store holds.
func TestL15NothingIsKeptBetweenCalls(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.on = script(refused, "project 1", "project 2")
	got, err := whole(0).Provide(s).Call(t.Context(), "k", []string{"a"})
	wantOutcomes(t, got, err, "committed 0: refused")
	if left, err := whole(0).Provide(s).Resume(t.Context(), "k"); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want nothing left", left, err)
	}
	wantList(t, "view", s.views["k"], "a")
}

func TestReserveKeepsTimeForTheProjection(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		reserve, limit time.Duration
		commit         time.Duration // what the commit gets of the time; 0 without a limit
	}{
		{"a quarter by default", 0, 40 * time.Second, 30 * time.Second},
		{"as set", 5 * time.Second, 40 * time.Second, 35 * time.Second},
		{"at most half", 30 * time.Second, 40 * time.Second, 20 * time.Second},
		{"no deadline", 5 * time.Second, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if tt.limit > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.limit)
				}
				defer cancel()
				var commitBy, projectBy time.Time
				w := whole(0)
				w.Reserve = tt.reserve
				write := w.Fold.Write
				w.Fold.Write = func(s *store, ctx context.Context, key string, read, next record) (record, error) {
					commitBy, _ = ctx.Deadline()
					return write(s, ctx, key, read, next)
				}
				project := w.Project
				w.Project = func(s *store, ctx context.Context, key string, r record) (projected.Projection[string], error) {
					projectBy, _ = ctx.Deadline()
					return project(s, ctx, key, r)
				}
				began := time.Now()
				if _, err := w.Provide(newStore()).Call(ctx, "k", []string{"a"}); err != nil {
					t.Fatal(err)
				}
				if tt.limit == 0 {
					if !commitBy.IsZero() || !projectBy.IsZero() {
						t.Errorf("got deadlines %v, %v, want none", commitBy, projectBy)
					}
					return
				}
				if got := commitBy.Sub(began); got != tt.commit {
					t.Errorf("got %v for the commit, want %v", got, tt.commit)
				}
				if got := projectBy.Sub(began); got != tt.limit {
					t.Errorf("got %v for the projection, want %v", got, tt.limit)
				}
			})
		})
	}
}

// A commit that uses up its time fails as unknown, while the call's context goes on.
func TestCommitThatUsesUpItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		w := whole(5)
		w.Fold.Write = func(_ *store, ctx context.Context, _ string, _, _ record) (record, error) {
			<-ctx.Done()
			return record{}, &failure{"timed out"}
		}
		_, err := w.Provide(newStore()).Call(ctx, "k", []string{"a"})
		e, ok := errors.AsType[*fold.Error](err)
		if !ok || !e.Unknown || e.Attempts != 1 || ctx.Err() != nil {
			t.Errorf("got %v, want unknown after one attempt, and time left", err)
		}
	})
}

func TestOutcomeTypes(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprint(projected.Status(0), projected.Projected, projected.Committed); got != "unknown projected committed" {
		t.Errorf("got %q", got)
	}
	var o outcome
	if cause, ok := o.Cause(); ok || cause != nil {
		t.Errorf("got cause %v of nothing", cause)
	}
	o.Err = fmt.Errorf("wrapped: %w", refused)
	if cause, ok := o.Cause(); !ok || cause != refused {
		t.Errorf("got cause %v, want %v", cause, refused)
	}
}

func TestBadPartsPanicByName(t *testing.T) {
	t.Parallel()
	good := perRow(0)
	tests := []struct {
		want  string
		build func()
	}{
		{"ProjectedWrite.Pending is nil", func() { projected.New(good.Fold, nil, good.Project) }},
		{"ProjectedWrite.Project is nil", func() { projected.New(good.Fold, good.Pending, nil) }},
		{"ProjectedWrite.Project is nil", func() {
			projected.WholeRecord(good.Fold, good.Pending, (func(*store, context.Context, string, record) error)(nil))
		}},
		{"ProjectedWrite.Pending is nil", func() { w := good; w.Pending = nil; w.Provide(nil) }},
		{"FoldWrite.Read is nil", func() { w := good; w.Fold.Read = nil; w.Provide(nil) }},
		{"ProjectedWrite.Reserve is negative", func() { w := good; w.Reserve = -1; w.Provide(nil) }},
		{"Rows: of is nil", func() {
			projected.Rows((func(record) seq)(nil), (*store).Missing, (*store).Put, (*store).Clear)
		}},
		{"Rows: missing is nil", func() { projected.Rows(rowOf, nil, (*store).Put, (*store).Clear) }},
		{"Rows: put is nil", func() { projected.Rows(rowOf, (*store).Missing, nil, (*store).Clear) }},
		{"Rows: clear is nil", func() { projected.Rows(rowOf, (*store).Missing, (*store).Put, nil) }},
		{"size is not positive", func() { projected.RowsChunked(0, rowOf, (*store).Missing, (*store).Put, (*store).Clear) }},
		{"pendingKeys is nil", func() { projected.NewSweeper(good, nil, nil) }},
	}
	for _, tt := range tests {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, tt.want) {
					t.Errorf("got panic %q, want %q", v, tt.want)
				}
			}()
			tt.build()
		}()
	}
}
