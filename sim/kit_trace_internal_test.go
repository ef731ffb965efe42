package sim

import (
	"context"
	"errors"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim/internal/kit"
)

// shelf is a stranger's store, for one goroutine, that has forgotten the fence of its commit.
type shelf map[string]book

type book struct {
	Version int
	Behind  bool
	Titles  []string
	Shown   []string
}

func (b book) behind() bool     { return b.Behind }
func (b book) titles() []string { return b.Titles }

var errTaken = errors.New("taken")

func (s shelf) read(_ context.Context, key string) (book, error) { return s[key], nil }

func (s shelf) write(_ context.Context, key string, read, next book) (book, error) {
	next.Version, next.Behind, next.Shown = read.Version+1, true, s[key].Shown
	s[key] = next
	return next, nil
}

func (s shelf) project(_ context.Context, key string, b book) error {
	held := s[key]
	if held.Version != b.Version || held.Behind != b.Behind {
		return errTaken
	}
	held.Shown, held.Behind = held.Titles, false
	s[key] = held
	return nil
}

func (s shelf) shown(_ context.Context, key string) ([]string, error) { return s[key].Shown, nil }

func (s shelf) pending(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for key, b := range s {
			if b.Behind && !yield(key, nil) {
				return
			}
		}
	}
}

func stock(b book, title string) (book, int, bool) {
	if at := slices.Index(b.Titles, title); at >= 0 {
		return b, at, false
	}
	b.Titles = append(slices.Clip(b.Titles), title)
	return b, len(b.Titles) - 1, true
}

// recorder is a test that keeps what is broken.
type recorder struct {
	*testing.T
	open   func() *kit.Store
	failed bool
	all    map[string]*kit.Violation // by subtest
	name   string
}

func (e *recorder) Failed() bool               { return e.failed }
func (e *recorder) Impatient() <-chan struct{} { return nil }
func (e *recorder) Broken(v *kit.Violation)    { e.failed, e.all[e.name] = true, v }

func (e *recorder) Run(name string, check func(kit.T, *kit.Store)) {
	check(&recorder{e.T, e.open, false, e.all, name}, e.open())
}

func checkShelf(t *testing.T) map[string]*kit.Violation {
	t.Helper()
	subject := kit.Subject[shelf, error, string, string, string, book, int]{
		Fold:    fold.New[error](func(title string) string { return title }, shelf.read, stock, shelf.write, schedule.Stop()),
		Pending: book.behind,
		Project: func(s shelf, ctx context.Context, key string, b book) (projected.Projection[string], error) {
			return nil, s.project(ctx, key, b)
		},
		Failure: func() error { return errTaken },
		Key:     AnyText, Input: func(_ string, n int) string { return AnyText(n) },
		Log: book.titles, View: shelf.shown, Keys: shelf.pending,
	}
	if err := subject.Prepare(); err != nil {
		t.Fatal(err)
	}
	e := &recorder{T: t, open: func() *kit.Store { return subject.Open(shelf{}) }, all: map[string]*kit.Violation{}}
	kit.Conform(e, kit.Has{})
	kit.Simulate(e, kit.Effort{Histories: 1000})
	return e.all
}

// TestAMissingFenceIsExplained: whoever has forgotten it is told what to do, and sees what happened.
func TestAMissingFenceIsExplained(t *testing.T) {
	t.Parallel()
	const fix = `To fix: Write must compare the fence of the record that was read with that of the stored record, and write, in one atomic step (update ... where version = ?); an absent record has a fence as well.
`
	tests := []struct{ name, want string }{
		{kit.StaleCommit.Name, `sim: law "a stale commit is refused" broken: w2 committed on a record that had been changed since it was read, and was not refused.
` + fix + `#  who  does         answer       log  view  marker   
1  w1   read         []           []   []    clear    
2  w2   read         []           []   []    clear    
3  w1   commit  [a]  [a] pending  [a]  []    pending  
4  w2   commit  [b]  [b] pending  [b]  []    pending  
The key is "c".
`},
		{"simulation", `sim: law "a stale commit is refused" broken: w1 committed on a record that had been changed since it was read, and was not refused.
` + fix + `#  who  does          answer       log  view  marker   
1  w1   read          []           []   []    clear    
2  w2   read          []           []   []    clear    
3  w2   commit  [b]   [b] pending  [b]  []    pending  
4  w2   project  [b]  done         [b]  [b]   clear    w2: 1 projected, 0 committed
5  w1   commit  [a]   [a] pending  [a]  [b]   pending  
The key is "ab~83".
`},
	}
	found := checkShelf(t)
	for _, tt := range tests {
		if got := describe(found[tt.name]); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestAMissingFenceIsDrawn: the failure says where the picture is.
func TestAMissingFenceIsDrawn(t *testing.T) {
	t.Parallel()
	_, path, ok := strings.Cut(explain("TestShelf", checkShelf(t)[kit.StaleCommit.Name]), "Picture: ")
	if !ok {
		t.Fatal("no picture")
	}
	defer os.Remove(path)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TestShelf", "Law broken: a stale commit is refused.", "To fix: Write must compare", "commit c [b]"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestHistoriesAreTraces: what draws traces can draw the history of a real store.
func TestHistoriesAreTraces(t *testing.T) {
	t.Parallel()
	trace := traceOf(checkShelf(t)["simulation"])
	last := trace.Steps[len(trace.Steps)-1]
	if got, want := last.does(), "commit ab~83 [a]"; got != want {
		t.Errorf("last step: got %q, want %q", got, want)
	}
	if got, want := last.states(), "ab~83 v3 m1 log [a] view [b]"; got != want {
		t.Errorf("state: got %q, want %q", got, want)
	}
	if got, want := trace.Violation.Law, Law("a stale commit is refused"); got != want {
		t.Errorf("law: got %q, want %q", got, want)
	}
}

func TestPowersOfOtherStoresAreRefused(t *testing.T) {
	t.Parallel()
	p := given([]Power{WithDelete(shelf.project)})
	if with, err := typed[shelf, string, string, book](p); with.delete == nil || err != nil {
		t.Errorf("its own: got %v, want no error", err)
	}
	_, err := typed[shelf, int, string, book](p)
	const want = "WithDelete was given a func(sim.shelf, context.Context, string, sim.book) error, and this store needs a func(sim.shelf, context.Context, int, sim.book) error"
	if err == nil || err.Error() != want {
		t.Errorf("another's: got %v, want %s", err, want)
	}
}
