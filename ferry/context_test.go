package ferry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/ferry"
)

type tag struct{}

func tagged(name string) context.Context { return context.WithValue(context.Background(), tag{}, name) }

func TestL22TheCallHasTheValuesOfTheFirstCallerStillWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1})
		p.submit("z0")
		p.submitWith(tagged("one"), "a1").cancel()
		two := p.submitWith(tagged("two"), "a2")
		p.submitWith(tagged("three"), "a3")
		p.land("z")
		two.cancel()
		ctx := p.trip("a").ctx
		if got := ctx.Value(tag{}); got != "two" {
			t.Errorf("value: got %v, want two", got)
		}
		var names []any
		derived, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		for _, caller := range ferry.Callers(derived) {
			names = append(names, caller.Value(tag{}))
		}
		if want := []any{"two", "three"}; !slices.Equal(names, want) {
			t.Errorf("callers: got %v, want %v", names, want)
		}
		p.land("a")
		if got := ferry.Callers(ctx); len(got) != 0 {
			t.Errorf("callers after their answers: got %d, want none", len(got))
		}
		if got := ctx.Value(tag{}); got != "two" {
			t.Errorf("value after the call: got %v, want two", got)
		}
	})
}

// A worker uses the books of a batch again. A context that a call kept is none the wiser.
func TestAnEndedContextHasNoCallersOfLaterBatches(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1})
		var kept []context.Context
		for range 20 { // Under the race detector, not every pool gives back what it got.
			p.submit("a")
			for _, ctx := range kept {
				if got := ferry.Callers(ctx); len(got) != 0 {
					t.Errorf("callers of an ended call: got %d, want none", len(got))
				}
			}
			kept = append(kept, p.trip("a").ctx)
			p.land("a")
		}
	})
}

func TestCallersElsewhereAreNone(t *testing.T) {
	t.Parallel()
	if got := ferry.Callers(t.Context()); got != nil {
		t.Errorf("got %v, want nil", got)
	}
}

func TestL22NoCallersCancelOrDeadlineReachesTheCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{BatchTimeout: time.Hour})
		start := time.Now()
		ctx, cancel := context.WithDeadline(t.Context(), start.Add(time.Second))
		defer cancel()
		p.submitWith(ctx, "a1")
		call := p.trip("a").ctx
		if got, ok := call.Deadline(); !ok || !got.Equal(start.Add(time.Hour)) {
			t.Errorf("deadline: got %v, %v, want BatchTimeout from the start", got, ok)
		}
		pass(time.Minute)
		select {
		case <-call.Done():
			t.Errorf("the call's context: got %v, want one that goes on", call.Err())
		default:
		}
		p.land("a")
	})
}

func TestL22TheDeadlineOfACallIsBatchTimeoutFromItsOwnStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, ask := range []bool{false, true} { // Err has to be right also if nobody has asked for Done.
			p := open(t, ferry.Config{BatchTimeout: time.Minute, MaxInFlight: 1})
			p.submit("z0", "a1")
			pass(30 * time.Second)
			p.land("z")
			ctx := p.trip("a").ctx
			if ask {
				ctx.Done()
			}
			pass(time.Minute - 1)
			if err := ctx.Err(); err != nil {
				t.Errorf("before the deadline: got %v, want nil", err)
			}
			pass(1)
			wantEnded(t, ctx, context.DeadlineExceeded)
			p.land("a")
			wantEnded(t, ctx, context.DeadlineExceeded)
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// wantEnded checks all that a context says about its end, and one derived from it.
func wantEnded(t *testing.T, ctx context.Context, want error) {
	t.Helper()
	if got := ctx.Err(); !errors.Is(got, want) {
		t.Errorf("Err: got %v, want %v", got, want)
	}
	select {
	case <-ctx.Done():
	default:
		t.Error("Done: got an open channel, want a closed one")
	}
	if got := context.Cause(ctx); !errors.Is(got, want) {
		t.Errorf("Cause: got %v, want %v", got, want)
	}
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	if got := derived.Err(); !errors.Is(got, want) {
		t.Errorf("Err of a derived context: got %v, want %v", got, want)
	}
	if got := ctx.Err(); !errors.Is(got, want) {
		t.Errorf("Err, asked again: got %v, want %v", got, want)
	}
}

func TestL22TheContextOfACallThatReturnedIsCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, timeout := range []time.Duration{-1, time.Second} {
			for _, ask := range []bool{false, true} {
				p := open(t, ferry.Config{BatchTimeout: timeout})
				p.submit("a1")
				ctx := p.trip("a").ctx
				if ask {
					ctx.Done()
				}
				p.land("a")
				pass(time.Hour) // It was cancelled first: the deadline that passes later changes nothing.
				wantEnded(t, ctx, context.Canceled)
				if err := p.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestL22WithoutBatchTimeoutACallHasNoDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{BatchTimeout: -1})
		tk := p.submit("a1")
		ctx := p.trip("a").ctx
		if deadline, ok := ctx.Deadline(); ok {
			t.Errorf("deadline: got %v, want none", deadline)
		}
		ctx.Done()
		pass(1e6 * time.Hour)
		if err := ctx.Err(); err != nil {
			t.Errorf("Err: got %v, want nil", err)
		}
		tk.wantPending(t)
		p.land("a")
		tk.wantAnswer(t)
	})
}

func TestL22DerivedContexts(t *testing.T) {
	// Not parallel: it counts goroutines.
	synctest.Test(t, func(t *testing.T) {
		p := open(t, ferry.Config{BatchTimeout: time.Minute})
		p.submit("a1")
		call := p.trip("a").ctx
		var ctxs []context.Context
		for range 10 {
			ctx, cancel := context.WithCancel(call)
			defer cancel()
			timed, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			short, cancel := context.WithTimeout(call, time.Second)
			defer cancel()
			caused, cancelCause := context.WithCancelCause(context.WithValue(call, tag{}, 1))
			defer cancelCause(nil)
			ctxs = append(ctxs, ctx, timed, caused)
			go func() { <-short.Done() }()
		}
		ran := 0
		stop := context.AfterFunc(call, func() { ran++ })
		kept := context.AfterFunc(call, func() { ran += 10 })
		if !stop() {
			t.Error("AfterFunc: could not be stopped")
		}
		pass(time.Second)
		if got := goroutines(aContextWatcher); got != 0 {
			t.Errorf("goroutines that watch the context: got %d, want none", got)
		}
		p.land("a")
		for _, ctx := range ctxs {
			if ctx.Err() != context.Canceled || context.Cause(ctx) != context.Canceled {
				t.Errorf("derived context: got %v, %v, want it cancelled", ctx.Err(), context.Cause(ctx))
			}
		}
		if ran != 10 || kept() {
			t.Errorf("AfterFunc: got %d, want 10, run once", ran)
		}
	})
}

func TestL22ACallThatReturnsWithinItsGraceDeliversItsOwnAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{BatchTimeout: time.Minute, CancelGrace: time.Second})
		tk := p.submit("a1")
		pass(time.Minute + time.Second - 1)
		tk.wantPending(t)
		p.land("a")
		tk.wantAnswer(t)
	})
}

func TestL22ACallStillOutAfterItsGrace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{BatchTimeout: time.Minute, CancelGrace: time.Second, MaxInFlight: 2})
		first := p.submit("a1")
		pass(time.Second)
		p.submit("b1")
		next, other := p.submit("a2"), p.submit("c1")
		pass(time.Minute)
		first.wantUnknown(t, ferry.ErrStillOut)
		// The lane and the slot stay held.
		pass(500 * time.Millisecond)
		next.wantPending(t)
		p.wantOut("a1", "b1")
		p.wantStats(0, 2, 2)
		p.land("b")
		p.wantOut("a1", "c1")
		p.land("c")
		other.wantAnswer(t)
		pass(time.Hour)
		p.wantOut("a1")
		// Its late answer reaches nobody, and the lane goes on.
		p.land("a")
		p.wantOut("a2")
		p.land("a")
		next.wantAnswer(t)
		if first.err() == nil || first.out() != "" {
			t.Errorf("a1: got %q, %v, want what it was told first", first.out(), first.err())
		}
	})
}

// The timer serves the calls of all lanes: each one is given up at its own time, also if one before it returned.
func TestL22EachCallIsGivenUpAtItsOwnTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{BatchTimeout: time.Second, CancelGrace: time.Second})
		var tickets []*ticket
		for _, in := range []string{"a1", "b1", "c1", "d1"} {
			tickets = append(tickets, p.submit(in))
			pass(100 * time.Millisecond)
		}
		p.land("a", "c")
		pass(1700*time.Millisecond - 1)
		tickets[1].wantPending(t)
		pass(1)
		tickets[1].wantUnknown(t, ferry.ErrStillOut)
		pass(200*time.Millisecond - 1)
		tickets[3].wantPending(t)
		pass(1)
		tickets[3].wantUnknown(t, ferry.ErrStillOut)
		p.land("b", "d")
	})
}

func TestL22AnUnlimitedGraceNeverGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{BatchTimeout: time.Second, CancelGrace: -1})
		tk := p.submit("a1")
		pass(1e6 * time.Hour)
		tk.wantPending(t)
		p.land("a")
		tk.wantAnswer(t)
	})
}

// The largest duration is how many write "for ever".
func TestL22TheLargestTimeouts(t *testing.T) {
	const forever = time.Duration(1<<63 - 1)
	for name, cfg := range map[string]ferry.Config{
		"BatchTimeout": {BatchTimeout: forever},
		"CancelGrace":  {CancelGrace: forever},
		"both":         {BatchTimeout: forever, CancelGrace: forever},
		"Overflow":     {Overflow: ferry.WaitUpTo(forever), MaxQueued: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				cfg.MaxInFlight = 1
				p := open(t, cfg)
				pass(time.Second) // Sums of times must not wrap around either.
				tickets := []*ticket{p.submit("a1"), p.submit("b1")}
				if cfg.Overflow != ferry.Reject {
					tickets = append(tickets, p.submit("c1"))
				}
				pass(20 * time.Second)
				for _, tk := range tickets {
					tk.wantPending(t)
					if err := p.trip(tk.in[:1]).ctx.Err(); err != nil {
						t.Errorf("%s: the call's context: got %v, want nil", tk.in, err)
					}
					p.land(tk.in[:1])
					tk.wantAnswer(t)
				}
			})
		})
	}
}

func TestL22TheLargestLingerIsEndedByAFlush(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: 1<<63 - 1})
		p.submit("a1")
		pass(time.Hour)
		p.wantOut()
		go func() { _ = p.Flush(context.Background()) }()
		synctest.Wait()
		p.wantOut("a1")
		p.land("a")
	})
}
