package projected_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// sweep runs s in its own goroutine until the test ends, in a bubble. Its rounds are a second apart.
func sweep[K comparable](t *testing.T, s *projected.Sweeper[K, string]) (stop func()) {
	t.Helper()
	s.Every = schedule.Spaced(time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v from Run, want a cancelled context", err)
		}
	})
	return func() { cancel(); running.Wait() }
}

// notes are what hooks were told, and the test asks for meanwhile.
type notes[T any] struct {
	mu  sync.Mutex
	all []T
}

func (n *notes[T]) add(v T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, v)
}

func (n *notes[T]) list() []T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

func TestSweeperFinishesWhatIsPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		for i := range 20 {
			s.add(fmt.Sprint("k", i), "a", "b")
		}
		sweeper := projected.NewSweeper(perRow(0), s, (*store).PendingKeys)
		stop := sweep(t, sweeper)
		synctest.Wait()
		for i := range 20 {
			wantList(t, "rows", s.rows[fmt.Sprint("k", i)], "a", "b")
		}
		s.add("k3", "c")
		time.Sleep(time.Second)
		synctest.Wait()
		wantList(t, "rows", s.rows["k3"], "a", "b", "c")
		stop()
	})
}

// L29: a key that stays pending backs off, for at most MaxBackoff, and its memory goes when it is done.
func TestL29BackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.add("k", "a")
		var healed atomic.Bool
		s.on = func(op string, _ int) error {
			if op == "put a" && !healed.Load() {
				return refused
			}
			return nil
		}
		var visited notes[time.Duration]
		began := time.Now()
		sweeper := projected.NewSweeper(perRow(5), s, (*store).PendingKeys)
		sweeper.MinBackoff, sweeper.MaxBackoff = 2*time.Second, 8*time.Second
		sweeper.OnVisit = func(string, projected.Projection[string], error) { visited.add(time.Since(began)) }
		stop := sweep(t, sweeper)
		time.Sleep(time.Minute)
		synctest.Wait()
		visits := visited.list()
		for i := 1; i < len(visits); i++ {
			if pause := visits[i] - visits[i-1]; pause > 9*time.Second {
				t.Errorf("got a pause of %v between visits, want at most MaxBackoff and a round", pause)
			}
		}
		if n := len(visits); n < 6 || n > 12 {
			t.Errorf("got visits at %v, want them to back off to 8 s", visits)
		}
		healed.Store(true)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		s.add("k", "b") // Done and pending anew: the back-off starts from nothing.
		before := len(visited.list())
		time.Sleep(time.Second)
		synctest.Wait()
		if got := len(visited.list()) - before; got != 1 {
			t.Errorf("got %d visits in the round after it was done, want 1", got)
		}
		stop()
	})
}

// A visit is one attempt: the schedule of the fold is for calls, the back-off is the sweeper's.
func TestVisitIsOneAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.add("k", "a")
		s.on = func(op string, _ int) error {
			if op == "project" {
				return refused
			}
			return nil
		}
		stop := sweep(t, projected.NewSweeper(whole(50), s, (*store).PendingKeys))
		synctest.Wait()
		wantOps(t, s, "list", "read", "project")
		stop()
	})
}

// L29: hopeless keys never hide a healthy one, and a listing carries no position over.
func TestL29HopelessKeysHideNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		for i := range 10_000 {
			s.add(fmt.Sprintf("hopeless %05d", i), "x")
		}
		s.add("z healthy", "a")
		s.on = func(op string, _ int) error {
			if op == "put x" {
				return refused
			}
			return nil
		}
		sweeper := projected.NewSweeper(perRow(0), s, (*store).PendingKeys)
		sweeper.MinBackoff, sweeper.MaxBackoff = time.Hour, time.Hour
		var rounds notes[projected.Round]
		sweeper.OnRound = func(r projected.Round, _ error) { rounds.add(r) }
		stop := sweep(t, sweeper)
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		wantList(t, "rows", s.rows["z healthy"], "a")
		for _, r := range rounds.list()[1:] {
			if r.Listed != 10_000 {
				t.Errorf("got %d keys listed, want all 10000 every round", r.Listed)
			}
		}
		stop()
	})
}

// A visit that never returns holds one place and delays no round, nor the other keys.
func TestHangingVisitDelaysNoRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		release := make(chan struct{})
		hanging := func(st *store, ctx context.Context, key string, r record) error {
			if key == "hangs" {
				<-release
			}
			return st.Project(ctx, key, r)
		}
		s.add("hangs", "a")
		sweeper := projected.NewSweeper(projected.WholeRecord(commit(0), record.pending, hanging), s, (*store).PendingKeys)
		sweeper.Concurrency = 2
		var rounds atomic.Int32
		sweeper.OnRound = func(r projected.Round, err error) {
			rounds.Add(1)
			if r.Running < 1 || err != nil {
				t.Errorf("got %+v, %v, want the hanging visit to run", r, err)
			}
		}
		stop := sweep(t, sweeper)
		for i := range 5 {
			key := fmt.Sprint("k", i)
			s.add(key, "a")
			time.Sleep(time.Second)
			synctest.Wait()
			wantList(t, "view", s.views[key], "a")
		}
		if rounds.Load() < 5 {
			t.Errorf("got %d rounds in 5 s, want one a second", rounds.Load())
		}
		close(release)
		stop()
	})
}

func TestSweeperConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var now atomic.Int32
		var running notes[int32]
		slow := func(st *store, ctx context.Context, key string, r record) error {
			running.add(now.Add(1))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return st.Project(ctx, key, r)
		}
		for i := range 30 {
			s.add(fmt.Sprint(i), "a")
		}
		sweeper := projected.NewSweeper(projected.WholeRecord(commit(0), record.pending, slow), s, (*store).PendingKeys)
		sweeper.Concurrency = 3
		stop := sweep(t, sweeper)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if most := slices.Max(running.list()); most != 3 || len(s.views) != 30 {
			t.Errorf("got %d at once and %d views, want 3 and 30", most, len(s.views))
		}
		stop()
	})
}

// L30: no failure of a visit or of the listing ends the sweeper. Each is told, and waits for a later round.
func TestL30NothingEndsASweeper(t *testing.T) {
	t.Parallel()
	faults := map[string]func() error{
		"failure": func() error { return refused },
		"defect":  func() error { return errors.New("defect") },
		"panic":   func() error { panic("boom") },
		"goexit":  func() error { runtime.Goexit(); return nil },
	}
	for name, fault := range faults {
		for _, op := range []string{"list", "read", "project"} {
			t.Run(name+" of "+op, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newStore()
					s.add("k", "a")
					s.on = func(o string, n int) error {
						if o == op && n <= 2 {
							return fault()
						}
						return nil
					}
					var told notes[error]
					sweeper := projected.NewSweeper(whole(0), s, (*store).PendingKeys)
					sweeper.OnVisit = func(_ string, _ projected.Projection[string], err error) { told.add(err) }
					sweeper.OnRound = func(_ projected.Round, err error) {
						if err != nil {
							told.add(err)
						}
					}
					stop := sweep(t, sweeper)
					time.Sleep(10 * time.Second)
					synctest.Wait()
					wantList(t, "view", s.views["k"], "a")
					got := told.list()
					if len(got) != 3 || got[0] == nil || got[1] == nil || got[2] != nil {
						t.Errorf("was told %v, want two failures and a success", got)
					}
					stop()
				})
			})
		}
	}
}

// L30: hooks are not the sweeper's end either; what they panic with is told by the next round.
func TestL30PanickingHooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.add("k", "a")
		sweeper := projected.NewSweeper(whole(0), s, (*store).PendingKeys)
		var told notes[string]
		sweeper.OnVisit = func(string, projected.Projection[string], error) { panic("visit hook") }
		sweeper.OnRound = func(_ projected.Round, err error) {
			if err != nil {
				told.add(err.Error())
			}
			if len(told.list()) == 1 {
				panic("round hook")
			}
		}
		stop := sweep(t, sweeper)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		got := told.list()
		if len(got) < 2 || !strings.Contains(got[0], "visit hook") || !strings.Contains(got[1], "round hook") {
			t.Errorf("was told %q, want both hooks' panics", got)
		}
		stop()
	})
}

// A listing that failed midway proves nobody absent: what it did list is visited, and nobody's back-off is forgotten.
func TestFailedListingProvesNobodyAbsent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.add("first", "a")
		s.add("hopeless", "x")
		s.on = script(refused, "put x 1", "put x 2", "put x 3")
		var whole atomic.Bool // the next listing
		whole.Store(true)
		list := func(s *store, ctx context.Context) iter.Seq2[string, error] {
			if whole.Swap(false) {
				return s.PendingKeys(ctx)
			}
			return func(yield func(string, error) bool) { yield("", errors.New("page 1 is not to be had")) }
		}
		sweeper := projected.NewSweeper(perRow(0), s, list)
		sweeper.MinBackoff, sweeper.MaxBackoff = time.Hour, time.Hour
		var failed atomic.Int32
		sweeper.OnRound = func(_ projected.Round, err error) {
			if err != nil {
				failed.Add(1)
			}
		}
		var visited notes[string]
		sweeper.OnVisit = func(key string, _ projected.Projection[string], _ error) { visited.add(key) }
		stop := sweep(t, sweeper)
		time.Sleep(5 * time.Second)
		whole.Store(true) // The hopeless key must still be known to back off.
		time.Sleep(time.Second)
		synctest.Wait()
		got := visited.list()
		if slices.Sort(got); !slices.Equal(got, []string{"first", "hopeless"}) || failed.Load() < 4 {
			t.Errorf("got visits %v and %d failed rounds, want one each, and 4", got, failed.Load())
		}
		stop()
	})
}

// Keys that somebody else finished are forgotten, with their back-off.
func TestFinishedElsewhereIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.add("k", "a")
		s.on = script(refused, "put a 1")
		var visits atomic.Int32
		sweeper := projected.NewSweeper(perRow(0), s, (*store).PendingKeys)
		sweeper.MinBackoff, sweeper.MaxBackoff = time.Hour, time.Hour
		sweeper.OnVisit = func(string, projected.Projection[string], error) { visits.Add(1) }
		stop := sweep(t, sweeper)
		synctest.Wait()
		if _, err := perRow(0).Provide(s).Resume(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		s.add("k", "b")
		time.Sleep(time.Second)
		synctest.Wait()
		if visits.Load() != 2 {
			t.Errorf("got %d visits, want a second at once when pending anew", visits.Load())
		}
		stop()
	})
}

// Keys that a map cannot hold, or cannot find again, are told and delay nobody.
func TestStrangeKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.add("k", "a")
		list := func(*store, context.Context) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				_ = yield(math.NaN(), nil) && yield([]int{1}, nil) && yield("k", nil)
			}
		}
		w := projected.ProjectedWrite[*store, *failure, any, string, string, record, string]{
			Pending: record.pending,
			Project: func(s *store, ctx context.Context, key any, r record) (projected.Projection[string], error) {
				return nil, s.Project(ctx, key.(string), r)
			},
		}
		w.Fold.ID, w.Fold.Step = ident, step
		w.Fold.Read = func(s *store, ctx context.Context, key any) (record, error) { return s.Read(ctx, key.(string)) }
		w.Fold.Write = func(*store, context.Context, any, record, record) (record, error) { return record{}, nil }
		sweeper := projected.NewSweeper(w, s, list)
		var told error
		sweeper.OnRound = func(_ projected.Round, err error) { told = err }
		stop := sweep(t, sweeper)
		synctest.Wait()
		wantList(t, "view", s.views["k"], "a")
		if told == nil || !strings.Contains(told.Error(), "NaN") {
			t.Errorf("was told %v, want the key", told)
		}
		stop()
	})
}

// A visit's context ends with Timeout, so that a store that heeds it gives its place back.
func TestVisitTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.add("k", "a")
		hanging := func(_ *store, ctx context.Context, _ string, _ record) error {
			<-ctx.Done()
			return ctx.Err()
		}
		sweeper := projected.NewSweeper(projected.WholeRecord(commit(0), record.pending, hanging), s, (*store).PendingKeys)
		sweeper.Timeout = 5 * time.Second
		var told error
		sweeper.OnVisit = func(_ string, _ projected.Projection[string], err error) { told = err }
		stop := sweep(t, sweeper)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if !errors.Is(told, context.DeadlineExceeded) {
			t.Errorf("was told %v, want the deadline", told)
		}
		stop()
	})
}

// Schedules that end, or never begin, are started again: only the context ends a sweeper.
func TestEveryThatEnds(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]schedule.Schedule{
		"zero": {}, "ends": schedule.Spaced(time.Second).And(schedule.Once()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var rounds atomic.Int32
				sweeper := projected.NewSweeper(whole(0), newStore(), (*store).PendingKeys)
				sweeper.Every = every
				sweeper.OnRound = func(projected.Round, error) { rounds.Add(1) }
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := sweeper.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				if n := rounds.Load(); n < 50 || n > 130 {
					t.Errorf("got %d rounds in a minute", n)
				}
			})
		})
	}
}

func TestSweeperRefusesNegativeFields(t *testing.T) {
	t.Parallel()
	for field, set := range map[string]func(*projected.Sweeper[string, string]){
		"Concurrency": func(s *projected.Sweeper[string, string]) { s.Concurrency = -1 },
		"Timeout":     func(s *projected.Sweeper[string, string]) { s.Timeout = -1 },
		"MinBackoff":  func(s *projected.Sweeper[string, string]) { s.MinBackoff = -1 },
		"MaxBackoff":  func(s *projected.Sweeper[string, string]) { s.MaxBackoff = -1 },
	} {
		s := projected.NewSweeper(whole(0), newStore(), (*store).PendingKeys)
		set(s)
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, field) {
					t.Errorf("got panic %q, want one that names %s", v, field)
				}
			}()
			_ = s.Run(t.Context())
		}()
	}
}

func TestLogTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.add("k", "a")
		s.on = func(op string, n int) error {
			switch fmt.Sprint(op, " ", n) {
			case "list 1", "put a 1", "read 2":
				return refused
			}
			return nil
		}
		var out bytes.Buffer
		sweeper := projected.NewSweeper(perRow(0), s, (*store).PendingKeys)
		sweeper.LogTo(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
		stop := sweep(t, sweeper)
		time.Sleep(10 * time.Second)
		stop()
		for _, want := range []string{
			`level=WARN msg="listing pending keys failed" listed=0 error=refused`,
			`level=INFO msg="still pending after a sweep" key=k entries=1 causes=map[a:refused]`,
			`level=WARN msg="sweeping failed" key=k error=refused`,
			`level=DEBUG msg=swept key=k`,
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, out.String())
			}
		}
	})
}
