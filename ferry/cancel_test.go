package ferry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/ferry"
)

func TestL21WhoLeavesWhileQueuedTakesItsInputBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1})
		p.submit("z0")
		first, middle, last := p.submit("a1"), p.submit("a2"), p.submit("a3")
		only := p.submit("b1")
		middle.cancel()
		middle.wantNotSent(t, context.Canceled)
		only.cancel()
		only.wantNotSent(t, context.Canceled)
		p.wantStats(0, 2, 1)
		p.landAll()
		first.wantAnswer(t)
		last.wantAnswer(t)
		p.wantLog("z0", "a1 a3")
	})
}

func TestL20NoEmptyBatchIsCalled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1})
		p.submit("z0")
		a, b := p.submit("a1"), p.submit("z1")
		a.cancel() // from a lane that waits for a slot
		b.cancel() // from a lane that is busy
		p.land("z")
		p.wantOut()
		p.wantLog("z0")
		p.submit("a2")
		p.wantOut("a2")
		p.land("a")
	})
}

// A lane that becomes empty loses its turn: it does not come back to an old one.
func TestL18AWithdrawnLaneLosesItsTurn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1})
		p.submit("z0")
		a := p.submit("a1")
		p.submit("b1")
		a.cancel()
		p.submit("a2")
		p.land("z")
		p.wantOut("b1")
		p.land("b")
		p.wantOut("a2")
		p.land("a")
	})
}

func TestL21WhoLeavesInFlightReturnsAtOnceWithTheOutcomeUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		p.submit("a0")
		first, second, third := p.submit("a1"), p.submit("a2"), p.submit("a3")
		p.land("a")
		second.cancel()
		second.wantUnknown(t, context.Canceled)
		p.wantOut("a1 a2 a3")
		first.wantPending(t)
		if err := p.trip("a").ctx.Err(); err != nil {
			t.Errorf("the call's context: got %v, want nil", err)
		}
		first.cancel()
		first.wantUnknown(t, context.Canceled)
		p.land("a")
		third.wantAnswer(t) // and not its neighbour's
	})
}

func TestL21TheContextsOwnErrorIsWrapped(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		sent, kept := p.submitWith(ctx, "a1"), p.submitWith(ctx, "b1")
		pass(time.Second - 1)
		sent.wantPending(t)
		pass(1)
		sent.wantUnknown(t, context.DeadlineExceeded)
		kept.wantNotSent(t, context.DeadlineExceeded)
		p.land("a")
	})
}

func TestSubmitWithAnEndedContextSendsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		_, err := p.Submit(ended(), "a1")
		wantError(t, "a1", err, context.Canceled, false)
		p.wantLog()
	})
}

// The context ends inside the call, so that it has long ended when the answer comes: whichever the caller's goroutine
// sees first, nothing but the outcome of its own input or "unknown" may come out, and once the answer is there it wins.
func TestL21TheAnswerWins(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 200 {
			ctx, cancel := context.WithCancel(context.Background())
			f := ferry.PerKey(ferry.Config{}, keyOf, func(_ context.Context, _ string, ins []string) ([]string, error) { return ins, nil })
			slow := &slowContext{Context: ctx, wait: make(chan struct{})}
			var out string
			var err error
			go func() { out, err = f.Submit(slow, "a1") }()
			synctest.Wait() // The caller has not asked for Done yet: its answer is there.
			cancel()
			close(slow.wait)
			synctest.Wait()
			if out != "a1" || err != nil {
				t.Fatalf("got %q, %v, want the answer", out, err)
			}
			if err := f.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// slowContext makes its caller wait at Done, which Submit asks for after its input has been accepted.
type slowContext struct {
	context.Context
	wait chan struct{}
}

func (c *slowContext) Done() <-chan struct{} {
	<-c.wait
	return c.Context.Done()
}

// A waiter whose caller left in flight must not serve another input: the late answer would be that one's.
func TestL20ALateAnswerReachesNobodyElse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		for range 50 {
			left := p.submit("a1")
			left.cancel()
			left.wantUnknown(t, context.Canceled)
			next := p.submit("b1")
			p.land("a")
			next.wantPending(t)
			p.land("b")
			next.wantAnswer(t)
		}
	})
}

func TestL21ResubmissionIsAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		boom := errors.New("boom")
		first := p.submit("a1")
		p.finish("a", func() ([]string, error) { return nil, boom })
		first.wantUnknown(t, boom)
		again := p.submit("a1")
		p.land("a")
		again.wantAnswer(t)
	})
}

func TestL21LeavingALineOfTheKey(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxQueuedPerKey: 1, MaxBatch: 1, Overflow: ferry.Wait})
		p.submit("a0", "a1")
		x, y := p.submit("a2"), p.submit("a3")
		x.cancel()
		x.wantNotSent(t, context.Canceled)
		p.landAll()
		y.wantAnswer(t)
		p.wantLog("a0", "a1", "a3")
	})
}

// lockProbe is a context that asks the ferry for its state whenever it is asked for anything.
type lockProbe struct {
	context.Context
	probe func()
}

func (c lockProbe) Err() error {
	c.probe()
	return c.Context.Err()
}

func (c lockProbe) Value(key any) any {
	c.probe()
	return c.Context.Value(key)
}

func (c lockProbe) Done() <-chan struct{} {
	c.probe()
	return c.Context.Done()
}

func (c lockProbe) Deadline() (time.Time, bool) {
	c.probe()
	return c.Context.Deadline()
}

func TestL26NoLockIsHeldWhileACallersContextIsAsked(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 1, Overflow: ferry.Wait})
		fates := make([]error, 3)
		ctx, cancel := context.WithCancel(t.Context())
		for i, in := range []string{"a1", "b1", "c1"} {
			go func() { _, fates[i] = p.Submit(lockProbe{ctx, func() { p.Stats() }}, in) }()
			synctest.Wait()
		}
		if p.trip("a").ctx.Value("nothing") != nil {
			t.Error("got a value, want nil")
		}
		cancel()
		synctest.Wait()
		for i, err := range fates {
			wantError(t, "left", err, context.Canceled, i == 0)
		}
		p.land("a")
	})
}
