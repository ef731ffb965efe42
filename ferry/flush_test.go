package ferry_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/ferry"
)

// flushing starts a flush and answers its progress.
func flushing(flush func(context.Context) error) *flushed {
	ctx, cancel := context.WithCancel(context.Background())
	fl := &flushed{cancel: func() {
		cancel()
		synctest.Wait()
	}}
	go func() {
		defer cancel()
		fl.reply.Store(&reply{err: flush(ctx)})
	}()
	synctest.Wait()
	return fl
}

type flushed struct {
	cancel func()
	reply  atomic.Pointer[reply]
}

func (fl *flushed) want(t *testing.T, done bool, err error) {
	t.Helper()
	got := fl.reply.Load()
	if !done && got == nil {
		return
	}
	if got == nil || !done || !errors.Is(got.err, err) {
		t.Fatalf("flush: got %+v, want done %v, %v", got, done, err)
	}
}

func (p *port) flushKey(key string) func(context.Context) error {
	return func(ctx context.Context) error { return p.FlushKey(ctx, key) }
}

func TestL17FlushEndsLingersAndWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Hour})
		p.submit("a1", "a2", "b1")
		fl := flushing(p.Flush)
		p.wantSent([]string{"a1 a2", "b1"})
		p.land("a")
		fl.want(t, false, nil)
		p.land("b")
		fl.want(t, true, nil)
	})
}

func TestFlushKeyLeavesOthersAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Hour})
		p.submit("a1", "b1")
		fl := flushing(p.flushKey("a"))
		p.wantOut("a1")
		p.land("a")
		fl.want(t, true, nil)
		p.wantStats(0, 1, 0)
		pass(time.Hour)
		p.land("b")
	})
}

func TestFlushOfNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		flushing(p.Flush).want(t, true, nil)
		flushing(p.flushKey("absent")).want(t, true, nil)
		for range 50 { // A select would toss a coin.
			if err := p.Flush(ended()); err != nil {
				t.Fatalf("with an ended context: got %v, want nil: nothing was to wait for", err)
			}
		}
	})
}

func TestFlushDoesNotWaitForWhatComesLater(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		p.submit("a1")
		fl := flushing(p.Flush)
		p.submit("a2", "b1")
		p.land("a")
		fl.want(t, true, nil)
		p.landAll()
	})
}

func TestFlushOfQueuedBehindInFlightAndOfManyBatches(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxBatch: 2, Linger: time.Hour})
		p.submit("a1", "a2", "a3", "a4", "a5")
		fl, key := flushing(p.Flush), flushing(p.flushKey("a"))
		p.wantOut("a1 a2")
		p.land("a")
		p.submit("a6", "a7")
		p.wantOut("a3 a4")
		p.land("a")
		fl.want(t, false, nil)
		p.wantOut("a5 a6") // It was flushed, so it does not linger.
		p.land("a")
		fl.want(t, true, nil)
		key.want(t, true, nil)
		p.wantOut() // a7 was not.
		p.wantStats(0, 1, 0)
		pass(time.Hour)
		p.land("a")
	})
}

func TestFlushAndWithdrawals(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, Linger: time.Hour})
		p.submit("z1")
		flushing(p.flushKey("z"))
		p.wantOut("z1")
		one, two, three := p.submit("a1"), p.submit("a2"), p.submit("a3")
		fl := flushing(p.flushKey("a"))
		later := p.submit("a4")
		three.cancel() // The flush waits for a2 now,
		two.cancel()   // for a1,
		fl.want(t, false, nil)
		p.land("z")
		p.wantOut("a1 a4")
		one.cancel() // which is out,
		one.wantUnknown(t, context.Canceled)
		fl.want(t, false, nil)
		p.land("a")
		fl.want(t, true, nil)
		later.wantAnswer(t)
	})
}

func TestFlushEndsWhenAllIsTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, Linger: time.Hour, MaxBatch: 2})
		p.submit("z1", "z2")
		one, two := p.submit("a1"), p.submit("b1")
		fl := flushing(p.Flush)
		one.cancel()
		fl.want(t, false, nil)
		two.cancel()
		fl.want(t, false, nil) // z is out.
		p.land("z")
		fl.want(t, true, nil)
		// What is left of a flush that ended does not end the lingers of later inputs.
		p.submit("a2", "b2")
		p.wantOut()
		pass(time.Hour)
		p.landAll()
	})
}

// The last queued input behind a batch is taken back: the flush goes on with the batch.
func TestFlushFallsBackToTheBatchInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		p.submit("a1")
		queued := p.submit("a2")
		fl := flushing(p.Flush)
		queued.cancel()
		fl.want(t, false, nil)
		p.land("a")
		fl.want(t, true, nil)
	})
}

func TestFlushOfACallThatIsGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{BatchTimeout: time.Second, CancelGrace: time.Second})
		p.submit("a1")
		behind := p.submit("a2")
		all := flushing(p.Flush)
		behind.cancel()
		pass(2*time.Second - 1)
		all.want(t, false, nil)
		pass(1)
		all.want(t, true, nil) // Its callers have their answer.
		flushing(p.Flush).want(t, true, nil)
		last := p.submit("a3")
		fl := flushing(p.flushKey("a"))
		last.cancel()
		fl.want(t, true, nil) // There is nothing before it any more that has no answer.
		p.land("a")
	})
}

func TestFlushEndsWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		p.submit("a1")
		fl := flushing(p.Flush)
		fl.cancel()
		fl.want(t, true, context.Canceled)
		p.land("a")
	})
}

func TestFlushAndClose(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, CancelGrace: time.Second})
		p.submit("a1", "b1", "a2")
		fl := flushing(p.Flush)
		_, cancel := p.closing()
		cancel()
		fl.want(t, false, nil) // a1 is out.
		pass(time.Second)
		fl.want(t, true, nil)
		p.land("a")
	})
}

func TestFlushDoesNotWaitForWaiters(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxQueuedPerKey: 1, MaxBatch: 1, Overflow: ferry.Wait})
		p.submit("a1", "a2", "a3", "a4")
		fl := flushing(p.Flush)
		p.land("a")
		fl.want(t, false, nil)
		p.land("a")
		fl.want(t, true, nil)
		p.landAll()
	})
}
