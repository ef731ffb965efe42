package fold_test

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
	"github.com/goferry/goferry/schedule"
)

type failure struct {
	what       string
	notWritten bool
}

func (f *failure) Error() string    { return f.what }
func (f *failure) NotWritten() bool { return f.notWritten }

var (
	conflict  = &failure{"conflict", true}
	lost      = &failure{"lost", false}
	errDefect = errors.New("defect")
)

type record struct {
	version int
	log     []string
}

// store holds one record. The scripts are asked before each read and write, by the number of the operation, and may be
// nil. A write that they answer with lost is stored all the same.
type store struct {
	record   record
	ops      []string
	onRead   func(n int) error
	onWrite  func(n int) error
	keys     []string
	contexts []context.Context
}

func (s *store) count(op string) int {
	n := 0
	for _, o := range s.ops {
		if o == op {
			n++
		}
	}
	return n
}

func (s *store) Read(ctx context.Context, key string) (record, error) {
	s.ops, s.keys, s.contexts = append(s.ops, "read"), append(s.keys, key), append(s.contexts, ctx)
	if s.onRead != nil {
		if err := s.onRead(s.count("read")); err != nil {
			return record{}, err
		}
	}
	// Spare capacity, so that a step which appends in place is found out.
	return record{s.record.version, slices.Grow(slices.Clone(s.record.log), 4)}, nil
}

func (s *store) Write(ctx context.Context, key string, read, next record) (record, error) {
	s.ops, s.keys, s.contexts = append(s.ops, "write"), append(s.keys, key), append(s.contexts, ctx)
	var err error
	if s.onWrite != nil {
		err = s.onWrite(s.count("write"))
	}
	if err != nil && err != lost {
		return record{}, err
	}
	if read.version != s.record.version {
		return record{}, conflict
	}
	s.record = record{read.version + 1, slices.Clone(next.log)}
	return s.record, err
}

// step appends and answers the position; it answers what is there already, and rejects "bad".
func step(r record, in string) (record, string, bool) {
	if at := slices.Index(r.log, in); at >= 0 {
		return r, fmt.Sprint(in, " was at ", at), false
	}
	if in == "bad" {
		return r, "rejected", false
	}
	return record{r.version, append(slices.Clip(r.log), in)}, fmt.Sprint(in, " at ", len(r.log)), true
}

func ident(in string) string { return in }

func write(retries int) fold.FoldWrite[*store, *failure, string, string, string, record, string] {
	return fold.New[*failure](ident, (*store).Read, step, (*store).Write, schedule.Recurs(retries))
}

func call(t *testing.T, s *store, retries int, inputs ...string) ([]string, error) {
	t.Helper()
	return write(retries).Provide(s).Call(t.Context(), "k", inputs)
}

// wantError checks the error of a call without its cause.
func wantError(t *testing.T, err error, attempts int, phase fold.Phase, unknown bool) {
	t.Helper()
	e, ok := errors.AsType[*fold.Error](err)
	if !ok {
		t.Fatalf("got error %v, want a *fold.Error", err)
	}
	got := fold.Error{Key: e.Key, Attempts: e.Attempts, Phase: e.Phase, Unknown: e.Unknown}
	want := fold.Error{Key: "k", Attempts: attempts, Phase: phase, Unknown: unknown}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if e.NotWritten() == unknown {
		t.Errorf("NotWritten() = %v with Unknown %v", e.NotWritten(), unknown)
	}
}

func wantOps(t *testing.T, s *store, ops ...string) {
	t.Helper()
	if !slices.Equal(s.ops, ops) {
		t.Errorf("got operations %v, want %v", s.ops, ops)
	}
}

func TestL5UndisturbedCallIsOneReadAndOneWrite(t *testing.T) {
	t.Parallel()
	s := &store{}
	got, err := call(t, s, 3, "a", "b")
	if want := []string{"a at 0", "b at 1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	wantOps(t, s, "read", "write")
	if !slices.Equal(s.keys, []string{"k", "k"}) {
		t.Errorf("got keys %q", s.keys)
	}
}

func TestL5NothingChangedIsNotWritten(t *testing.T) {
	t.Parallel()
	s := &store{record: record{1, []string{"a"}}}
	got, err := call(t, s, 3, "a", "bad", "a")
	if want := []string{"a was at 0", "rejected", "a was at 0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	wantOps(t, s, "read")
}

func TestNoInputsNoOperations(t *testing.T) {
	t.Parallel()
	s := &store{}
	if got, err := call(t, s, 3); len(got) != 0 || err != nil {
		t.Errorf("got %q, %v, want nothing", got, err)
	}
	wantOps(t, s)
}

// L6: a conflict re-reads and folds the same inputs into what another writer left.
func TestL6ConflictFoldsAgain(t *testing.T) {
	t.Parallel()
	s := &store{}
	s.onWrite = func(n int) error {
		if n == 1 {
			s.record = record{1, []string{"x"}}
		}
		return nil
	}
	got, err := call(t, s, 1, "a", "b")
	if want := []string{"a at 1", "b at 2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if want := []string{"x", "a", "b"}; !slices.Equal(s.record.log, want) {
		t.Errorf("got log %q, want %q", s.record.log, want)
	}
}

// L6: a commit that landed and whose answer was lost is found by step, answered, and not applied twice.
func TestL6LostAnswerIsFound(t *testing.T) {
	t.Parallel()
	s := &store{onWrite: func(n int) error {
		if n == 1 {
			return lost
		}
		return nil
	}}
	got, err := call(t, s, 1, "a", "b")
	if want := []string{"a was at 0", "b was at 1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	wantOps(t, s, "read", "write", "read")
	if want := []string{"a", "b"}; !slices.Equal(s.record.log, want) {
		t.Errorf("got log %q, want %q", s.record.log, want)
	}
}

// L6: once an attempt was unknown the error stays so, whatever the last attempt says.
func TestL6Unknown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		writes  []error
		unknown bool
	}{
		{"refused", []error{conflict, conflict, conflict}, false},
		{"unknown last", []error{conflict, conflict, &failure{"unknown", false}}, true},
		{"unknown first", []error{&failure{"unknown", false}, conflict, conflict}, true},
		{"hidden in another error", []error{conflict, conflict, fmt.Errorf("store: %w", conflict)}, false},
		{"an inner call that was unknown before its conflict", []error{conflict, conflict,
			&fold.Error{Unknown: true, Err: conflict}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &store{onWrite: func(n int) error { return tt.writes[n-1] }}
			_, err := call(t, s, 2, "a")
			wantError(t, err, 3, fold.Writing, tt.unknown)
		})
	}
}

// L7: the n-th answer is the n-th input's, duplicates and rejections included. A rejected input is stepped again.
func TestL7AnswersArePositional(t *testing.T) {
	t.Parallel()
	s := &store{}
	got, err := call(t, s, 0, "bad", "a", "a", "bad", "b")
	if want := []string{"rejected", "a at 0", "a was at 0", "rejected", "b at 1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if want := []string{"a", "b"}; !slices.Equal(s.record.log, want) {
		t.Errorf("got log %q, want %q", s.record.log, want)
	}
}

// L7: identities are Step's business: fold asks no input for its own.
func TestL7ComparesNoIdentities(t *testing.T) {
	t.Parallel()
	w := fold.New[*failure](func(string) string { panic("asked") }, (*store).Read, step, (*store).Write, schedule.Schedule{})
	if _, err := w.Provide(&store{}).Call(t.Context(), "k", []string{"a", "a"}); err != nil {
		t.Error(err)
	}
}

func TestL8ExhaustedRetries(t *testing.T) {
	t.Parallel()
	for retries := range 4 {
		s := &store{onWrite: func(n int) error { return &failure{fmt.Sprint("refused ", n), true} }}
		_, err := call(t, s, retries, "a")
		wantError(t, err, retries+1, fold.Writing, false)
		last, ok := errors.AsType[*failure](err)
		if want := fmt.Sprint("refused ", retries+1); !ok || last.what != want {
			t.Errorf("got last failure %v, want %v", last, want)
		}
		if n := s.count("read"); n != retries+1 {
			t.Errorf("got %d reads, want %d", n, retries+1)
		}
	}
}

func TestL8ReadFailures(t *testing.T) {
	t.Parallel()
	s := &store{onRead: func(int) error { return lost }}
	_, err := call(t, s, 1, "a")
	wantError(t, err, 2, fold.Reading, false)
	wantOps(t, s, "read", "read")
}

func TestDefectsAreNotRetried(t *testing.T) {
	t.Parallel()
	s := &store{onRead: func(int) error { return errDefect }}
	_, err := call(t, s, 5, "a")
	wantError(t, err, 1, fold.Reading, false)
	if !errors.Is(err, errDefect) {
		t.Errorf("got %v, want the defect", err)
	}
	s = &store{onWrite: func(int) error { return errDefect }}
	_, err = call(t, s, 5, "a")
	wantError(t, err, 1, fold.Writing, true)
}

// L8: panics of the user's functions are errors with value and stack. One in Write leaves the outcome unknown.
func TestL8Panics(t *testing.T) {
	t.Parallel()
	w := write(3)
	boom := func(n int) error { panic(fmt.Sprint("boom ", n)) }
	tests := []struct {
		name    string
		store   *store
		step    func(record, string) (record, string, bool)
		retry   schedule.Schedule
		phase   fold.Phase
		unknown bool
	}{
		{name: "read", store: &store{onRead: boom}, step: step, phase: fold.Reading},
		{name: "step", store: &store{}, step: func(record, string) (record, string, bool) { panic("boom") }, phase: fold.Stepping},
		{name: "write", store: &store{onWrite: boom}, step: step, phase: fold.Writing, unknown: true},
		{name: "schedule", store: &store{onRead: func(int) error { return conflict }}, step: step, phase: fold.Reading,
			retry: schedule.Forever().While(func(error) bool { panic("boom") })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := w
			w.Step = tt.step
			if tt.name == "schedule" {
				w.Retry = tt.retry
			}
			_, err := w.Provide(tt.store).Call(t.Context(), "k", []string{"a"})
			wantError(t, err, 1, tt.phase, tt.unknown)
			p, ok := errors.AsType[*fold.PanicError](err)
			if !ok || !strings.HasPrefix(fmt.Sprint(p.Value), "boom") || !strings.Contains(string(p.Stack), "fold_test") {
				t.Errorf("got %v, want the panic's value and stack", err)
			}
		})
	}
}

// A panic is a defect even where every error is a typed failure, and what it panicked with is not taken for one.
func TestPanicIsNoTypedFailure(t *testing.T) {
	t.Parallel()
	reads := 0
	read := func(*store, context.Context, string) (record, error) {
		reads++
		panic(conflict)
	}
	w := fold.New[error](ident, read, step, (*store).Write, schedule.Recurs(3))
	_, err := w.Provide(&store{}).Call(t.Context(), "k", []string{"a"})
	if _, typed := errors.AsType[*failure](err); typed || reads != 1 {
		t.Errorf("got %v after %d reads, want the panic after 1", err, reads)
	}
}

func TestEveryErrorIsTypedWithErrorAsE(t *testing.T) {
	t.Parallel()
	s := &store{onWrite: func(n int) error {
		if n < 3 {
			return errDefect
		}
		return nil
	}}
	w := fold.New[error](ident, (*store).Read, step, (*store).Write, schedule.Recurs(2))
	if _, err := w.Provide(s).Call(t.Context(), "k", []string{"a"}); err != nil {
		t.Error(err)
	}
}

func TestL9StepSeesEarlierInputs(t *testing.T) {
	t.Parallel()
	var seen []string
	w := write(0)
	w.Step = func(r record, in string) (record, string, bool) {
		seen = append(seen, fmt.Sprint(in, " on ", r.log))
		return step(r, in)
	}
	s := &store{record: record{7, []string{"x"}}}
	if _, err := w.Provide(s).Call(t.Context(), "k", []string{"a", "bad", "b"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a on [x]", "bad on [x a]", "b on [x a]"}; !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

// A record that a step answers without having changed it is not taken over.
func TestNextIsIgnoredWithoutChange(t *testing.T) {
	t.Parallel()
	w := write(0)
	w.Step = func(r record, in string) (record, string, bool) {
		if in == "lie" {
			return record{99, []string{"lie"}}, "", false
		}
		return step(r, in)
	}
	s := &store{}
	if _, err := w.Provide(s).Call(t.Context(), "k", []string{"lie", "a", "lie"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a"}; !slices.Equal(s.record.log, want) {
		t.Errorf("got log %q, want %q", s.record.log, want)
	}
}

// After a cancel at most the operation in flight goes on, and nothing is written if that is not the write.
func TestCancelledContext(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := &store{}
		_, err := write(3).Provide(s).Call(ctx, "k", []string{"a"})
		wantError(t, err, 0, fold.Reading, false)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want a cancelled context", err)
		}
		wantOps(t, s)
	})
	t.Run("during the read", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		s := &store{onRead: func(int) error { cancel(); return nil }}
		_, err := write(3).Provide(s).Call(ctx, "k", []string{"a"})
		wantError(t, err, 1, fold.Stepping, false)
		wantOps(t, s, "read")
	})
	t.Run("during the read of a replay", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		s := &store{record: record{1, []string{"a"}}, onRead: func(int) error { cancel(); return nil }}
		if _, err := write(3).Provide(s).Call(ctx, "k", []string{"a"}); err != nil {
			t.Errorf("got %v: nothing was left to do", err)
		}
	})
	t.Run("during a write that succeeds", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		s := &store{onWrite: func(int) error { cancel(); return nil }}
		if _, err := write(3).Provide(s).Call(ctx, "k", []string{"a"}); err != nil {
			t.Errorf("got %v: a nil error is success even if the context has ended", err)
		}
	})
	t.Run("during a write that fails", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		s := &store{onWrite: func(int) error { cancel(); return &failure{"unknown", false} }}
		_, err := write(3).Provide(s).Call(ctx, "k", []string{"a"})
		wantError(t, err, 1, fold.Writing, true)
		if _, ok := errors.AsType[*failure](err); !ok || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the last failure beside the context's error", err)
		}
		wantOps(t, s, "read", "write")
	})
}

func TestDeadlineEndsTheBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		s := &store{onWrite: func(int) error { return conflict }}
		w := write(0)
		w.Retry = schedule.Spaced(time.Minute)
		began := time.Now()
		_, err := w.Provide(s).Call(ctx, "k", []string{"a"})
		wantError(t, err, 2, fold.Writing, false)
		if !errors.Is(err, conflict) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want conflict and deadline", err)
		}
		if took := time.Since(began); took != 90*time.Second {
			t.Errorf("took %v, want the deadline", took)
		}
	})
}

func TestUserFunctionsGetTheCallersContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	s := &store{}
	ctx := context.WithValue(t.Context(), key{}, "here")
	if _, err := write(0).Provide(s).Call(ctx, "k", []string{"a"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range s.contexts {
		if c.Value(key{}) != "here" {
			t.Error("an operation did not get the caller's context")
		}
	}
}

func TestRunAnswersTheStoredRecord(t *testing.T) {
	t.Parallel()
	s := &store{record: record{4, []string{"x"}}}
	stored, _, err := write(0).Run(s, t.Context(), "k", []string{"a"})
	if err != nil || stored.version != 5 {
		t.Errorf("got version %d, %v, want what Write answered: 5", stored.version, err)
	}
	stored, _, err = write(0).Run(s, t.Context(), "k", []string{"a"})
	if err != nil || stored.version != 5 || s.count("write") != 1 {
		t.Errorf("got version %d, %v, want what was read: 5", stored.version, err)
	}
}

func TestNilFunctionsPanicByName(t *testing.T) {
	t.Parallel()
	type FW = fold.FoldWrite[*store, *failure, string, string, string, record, string]
	tests := []struct {
		field string
		clear func(*FW)
	}{
		{"ID", func(f *FW) { f.ID = nil }},
		{"Read", func(f *FW) { f.Read = nil }},
		{"Step", func(f *FW) { f.Step = nil }},
		{"Write", func(f *FW) { f.Write = nil }},
	}
	for _, tt := range tests {
		f := write(0)
		tt.clear(&f)
		wantPanic(t, tt.field, func() { f.Provide(&store{}) })
		wantPanic(t, tt.field, func() { fold.New[*failure](f.ID, f.Read, f.Step, f.Write, f.Retry) })
	}
}

func wantPanic(t *testing.T, field string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if v := fmt.Sprint(recover()); !strings.Contains(v, "FoldWrite."+field+" is nil") {
			t.Errorf("got panic %q, want one that names %s", v, field)
		}
	}()
	f()
}

func TestErrorsHoldNoInputs(t *testing.T) {
	t.Parallel()
	w := write(0)
	w.Step = func(record, string) (record, string, bool) { panic(struct{ secret string }{"hunter2"}) }
	_, err := w.Provide(&store{}).Call(t.Context(), "k", []string{"hunter2"})
	if strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "k") {
		t.Errorf("got %q, want the key and no input", err)
	}
}
