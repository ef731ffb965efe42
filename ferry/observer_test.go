package ferry_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/ferry"
)

// journal is what an observer heard.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, strings.TrimSpace(fmt.Sprintln(line...)))
}

func (j *journal) want(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.lines, want) {
		t.Errorf("told: got %q, want %q", j.lines, want)
	}
}

func TestObserverIsToldOfEveryBatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var told journal
		var batches []ferry.Batch
		start := time.Now()
		p := open(t, ferry.Config{MaxInFlight: 1, Observer: ferry.Observer{
			BatchStarted: func(ctx context.Context, b ferry.Batch) context.Context {
				told.add("started", b.Key, len(ferry.Callers(ctx)))
				batches = append(batches, b)
				return context.WithValue(ctx, tag{}, b.Key)
			},
			BatchEnded: func(ctx context.Context, b ferry.Batch, err error) {
				told.add("ended", b.Key, ctx.Value(tag{}), err)
			},
		}})
		p.submit("z1")
		tk := p.submit("a1*3")
		pass(time.Second)
		p.submit("a2*4")
		p.land("z")
		if got := p.trip("a").ctx.Value(tag{}); got != "a" {
			t.Errorf("the call's context: got %v, want the observer's", got)
		}
		p.finish("a", func() ([]string, error) { return nil, errBoom })
		tk.wantUnknown(t, errBoom)
		told.want(t, "started z 1", "ended z z <nil>", "started a 2", "ended a a boom")
		want := ferry.Batch{Key: "a", Size: 2, Weight: 7, Wait: time.Second, Start: start.Add(time.Second), Lanes: 1}
		if got := batches[1]; got.Key != want.Key || got.Size != want.Size || got.Weight != want.Weight ||
			got.Wait != want.Wait || !got.Start.Equal(want.Start) || got.Lanes != want.Lanes {
			t.Errorf("batch: got %+v, want %+v", got, want)
		}
	})
}

func TestObserverIsToldHowACallEnded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var ends []error
		p := open(t, ferry.Config{Observer: ferry.Observer{
			BatchEnded: func(_ context.Context, _ ferry.Batch, err error) { ends = append(ends, err) },
		}})
		p.submit("a1")
		p.finish("a", func() ([]string, error) { panic("boom") })
		p.submit("a2")
		p.finish("a", func() ([]string, error) {
			runtime.Goexit()
			return nil, nil
		})
		p.submit("a3")
		p.finish("a", func() ([]string, error) { return nil, nil })
		if len(ends) != 3 {
			t.Fatalf("ends: got %v, want 3", ends)
		}
		if _, ok := errors.AsType[*ferry.PanicError](ends[0]); !ok {
			t.Errorf("panic: got %v", ends[0])
		}
		if !errors.Is(ends[1], ferry.ErrGoexit) {
			t.Errorf("Goexit: got %v", ends[1])
		}
		if _, ok := errors.AsType[*ferry.CountError](ends[2]); !ok {
			t.Errorf("wrong number: got %v", ends[2])
		}
	})
}

func TestObserverIsToldOfRefusals(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var told journal
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 2, MaxQueuedPerKey: 1, Overflow: ferry.WaitUpTo(time.Second),
			Observer: ferry.Observer{Overloaded: func(key any, bound ferry.Bound) { told.add(key, bound) }}})
		p.submit("z0", "a1", "b1")
		p.submit("a2")
		pass(time.Millisecond)
		p.submit("c1").wantPending(t)
		pass(time.Millisecond)
		left := p.submit("b2")
		left.cancel()
		pass(time.Second)
		p.landAll()
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.submit("d1").wantNotSent(t, ferry.ErrClosed)
		told.want(t, "a MaxQueuedPerKey", "c MaxQueued") // Neither who left nor who came too late.
	})
}

func TestL23APanicOfTheObserverChangesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var told atomic.Int32
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 1, Observer: ferry.Observer{
			BatchStarted: func(context.Context, ferry.Batch) context.Context { told.Add(1); panic("started") },
			BatchEnded:   func(context.Context, ferry.Batch, error) { told.Add(1); panic("ended") },
			Overloaded:   func(any, ferry.Bound) { told.Add(1); panic("overloaded") },
		}})
		tk := p.submit("a1")
		if p.trip("a").ctx == nil {
			t.Error("the call's context: got nil")
		}
		p.submit("b1")
		wantBound(t, p.submit("c1").err(), ferry.MaxQueued)
		p.landAll()
		tk.wantAnswer(t)
		if got := told.Load(); got != 5 {
			t.Errorf("told %d times, want 5", got)
		}
	})
}

func TestObserverThatEndsItsGoroutine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, Observer: ferry.Observer{
			BatchStarted: func(ctx context.Context, b ferry.Batch) context.Context {
				if b.Key == "x" {
					runtime.Goexit()
				}
				return ctx
			},
			BatchEnded: func(context.Context, ferry.Batch, error) { runtime.Goexit() },
		}})
		p.submit("x1").wantUnknown(t, ferry.ErrGoexit)
		tk := p.submit("a1")
		p.land("a")
		tk.wantAnswer(t)
	})
}

func TestObserverThatAnswersNoContext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Observer: ferry.Observer{
			BatchStarted: func(context.Context, ferry.Batch) context.Context { return nil },
		}})
		p.submit("a1")
		if p.trip("a").ctx == nil {
			t.Error("the call's context: got nil, want the ferry's")
		}
		p.land("a")
	})
}

func TestL26NoLockIsHeldWhileUserCodeRuns(t *testing.T) {
	for name, overflow := range map[string]ferry.Overflow{"Reject": ferry.Reject, "WaitUpTo": ferry.WaitUpTo(20 * time.Millisecond)} {
		t.Run(name, func(t *testing.T) { inBubble(t, func(t *testing.T) { visitEverywhere(t, overflow) }) })
	}
}

func visitEverywhere(t *testing.T, overflow ferry.Overflow) {
	var f *ferry.Ferry[string, string, string]
	visited := map[string]int{}
	var mu sync.Mutex
	// visit does all that needs the lock, short of waiting for the very batch that it is called for.
	visit := func(where string) {
		mu.Lock()
		visited[where]++
		mu.Unlock()
		f.Stats()
		_ = f.FlushKey(context.Background(), "nothing")
		_ = f.Flush(ended())
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_, err := f.Submit(ctx, "nested")
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ferry.ErrOverloaded) {
			t.Errorf("%s: got %v", where, err)
		}
	}
	depth := func(in, where string) {
		if in != "nested" {
			visit(where)
		}
	}
	f = ferry.PerKeyWeighed(
		ferry.Config{MaxQueued: 2, MaxQueuedPerKey: 1, Overflow: overflow, Observer: ferry.Observer{
			BatchStarted: func(ctx context.Context, b ferry.Batch) context.Context {
				depth(b.Key.(string), "BatchStarted")
				return ctx
			},
			BatchEnded: func(_ context.Context, b ferry.Batch, _ error) { depth(b.Key.(string), "BatchEnded") },
			Overloaded: func(key any, _ ferry.Bound) { depth(key.(string), "Overloaded") },
		}},
		func(in string) string { depth(in, "keyOf"); return in },
		func(in string) int { depth(in, "weigh"); return 0 },
		func(_ context.Context, key string, ins []string) ([]string, error) {
			depth(key, "call")
			if key == "slow" {
				time.Sleep(time.Second)
			}
			return ins, nil
		},
	)
	for _, in := range []string{"slow", "slow", "slow", "quick"} {
		go func() { _, _ = f.Submit(context.Background(), in) }()
		pass(50 * time.Millisecond)
	}
	pass(time.Minute)
	for _, where := range []string{"keyOf", "weigh", "call", "BatchStarted", "BatchEnded", "Overloaded"} {
		if visited[where] == 0 {
			t.Errorf("%s: not visited", where)
		}
	}
	if err := f.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestL27ASubmitFromInsideItsCallIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var f, through *ferry.Ferry[string, string, string]
		through = ferry.PerKey(ferry.Config{}, keyOf, func(ctx context.Context, _ string, ins []string) ([]string, error) {
			out, err := f.Submit(ctx, ins[0])
			return []string{out}, err
		})
		var kept context.Context
		f = ferry.PerKey(ferry.Config{MaxInFlight: 1}, keyOf, func(ctx context.Context, key string, ins []string) ([]string, error) {
			switch key {
			case "i":
				_, err := f.Submit(ctx, "a1")
				wantError(t, "from inside", err, ferry.ErrReentrant, false)
				_, err = f.Submit(context.WithoutCancel(context.WithValue(ctx, tag{}, 1)), "i2")
				wantError(t, "from inside, derived", err, ferry.ErrReentrant, false)
				_, errs := f.SubmitAll(ctx, []string{"a1"})
				wantError(t, "all from inside", errs[0], ferry.ErrReentrant, false)
				_, err = through.Submit(ctx, "a1")
				wantError(t, "through another", err, ferry.ErrReentrant, true)
			case "k":
				kept = context.WithoutCancel(ctx)
				go func() {
					<-ctx.Done() // After the call, its context is an ordinary one.
					if out, err := f.Submit(kept, "a1"); out != "a1" || err != nil {
						t.Errorf("with the context of a call that has returned: got %q, %v, want an answer", out, err)
					}
				}()
			}
			return ins, nil
		})
		for _, in := range []string{"i1", "k1"} {
			if out, err := f.Submit(t.Context(), in); out != in || err != nil {
				t.Errorf("%s: got %q, %v", in, out, err)
			}
		}
		// A context of a call that has returned, as another ferry's caller.
		if out, err := through.Submit(kept, "b1"); out != "b1" || err != nil {
			t.Errorf("got %q, %v, want an answer", out, err)
		}
		synctest.Wait()
		for _, f := range []*ferry.Ferry[string, string, string]{through, f} {
			if err := f.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestStats(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueuedPerKey: 2, Overflow: ferry.WaitUpTo(time.Minute)})
		if got := p.Stats(); got.Lanes+got.Queued+got.InFlight+got.Waiting+len(got.Refused) != 0 || got.OldestWait != 0 {
			t.Errorf("fresh: got %+v, want zeros", got)
		}
		p.submit("z0", "a1*5")
		pass(time.Second)
		p.submit("a2*6", "b1*7", "a3", "a4")
		pass(time.Second)
		got := p.Stats()
		if got.Lanes != 3 || got.Waiting != 2 || got.Queued != 3 || got.QueuedWeight != 18 || got.InFlight != 1 || got.OldestWait != 2*time.Second {
			t.Errorf("got %+v", got)
		}
		pass(time.Minute)
		got = p.Stats()
		if got.Waiting != 0 || got.Refused[ferry.MaxQueuedPerKey] != 2 {
			t.Errorf("got %+v, want two refused", got)
		}
		got.Refused[ferry.MaxQueued] = 99
		if again := p.Stats().Refused; again[ferry.MaxQueued] != 0 {
			t.Errorf("refused: got %v, want a map of the ferry's own", again)
		}
		p.landAll()
	})
}
