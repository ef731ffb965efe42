package ferry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/ferry"
)

// closing starts a Close and answers how to wait for it, and how to end its context.
func (p *port) closing() (wait func() error, cancel func()) {
	ctx, cancelCtx := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- p.Close(ctx) }()
	synctest.Wait()
	return func() error { return <-result }, func() {
		cancelCtx()
		synctest.Wait()
	}
}

func TestL24CloseDrains(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxBatch: 1})
		tickets := []*ticket{p.submit("a1"), p.submit("a2"), p.submit("b1")}
		wait, cancel := p.closing()
		defer cancel()
		p.submit("c1").wantNotSent(t, ferry.ErrClosed)
		for _, tk := range tickets {
			tk.wantPending(t)
		}
		p.landAll()
		for _, tk := range tickets {
			tk.wantAnswer(t)
		}
		if err := wait(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
		p.submit("a3").wantNotSent(t, ferry.ErrClosed)
		p.wantLog("a1", "b1", "a2")
	})
}

func TestL24CloseBlocksUntilTheLastAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{BatchTimeout: -1})
		p.submit("a1")
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		start := time.Now()
		go func() {
			time.Sleep(time.Minute)
			p.trip("a").back <- echo([]string{"a1"})
		}()
		if err := p.Close(ctx); err != nil || time.Since(start) != time.Minute {
			t.Errorf("Close: got %v after %v, want nil after a minute", err, time.Since(start))
		}
	})
}

func TestL24WhenItsContextEndsQueuedInputsAreNotSentAndCallsDeliver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 2, CancelGrace: time.Minute})
		committed, failed := p.submit("a1"), p.submit("b1")
		queued := []*ticket{p.submit("a2"), p.submit("c1")}
		wait, cancel := p.closing()
		cancel()
		for _, tk := range queued {
			tk.wantNotSent(t, ferry.ErrClosed)
		}
		for _, key := range []string{"a", "b"} {
			wantEnded(t, p.trip(key).ctx, context.Canceled)
		}
		p.wantStats(0, 0, 2)
		pass(time.Minute - 1)
		p.land("a")
		committed.wantAnswer(t)
		p.finish("b", func() ([]string, error) { return nil, errBoom })
		failed.wantUnknown(t, errBoom)
		if err := wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: got %v, want its context's error", err)
		}
		p.wantLog("a1", "b1")
	})
}

func TestL24ACallStillOutAfterItsGrace(t *testing.T) {
	// Not parallel: it counts goroutines.
	synctest.Test(t, func(t *testing.T) {
		p := open(t, ferry.Config{CancelGrace: time.Millisecond, BatchTimeout: -1})
		p.submit("b1", "c1", "d1")
		p.land("b", "c", "d") // Some workers are parked.
		if got := goroutines(aWorker); got < 2 {
			t.Fatalf("workers: got %d, want some", got)
		}
		stuck, quick := p.submit("a1"), p.submit("b2")
		queued := p.submit("a2")
		wait, cancel := p.closing()
		cancel()
		p.land("b")
		quick.wantAnswer(t)
		pass(time.Millisecond - 1) // Too short a time for the parked workers to leave by themselves.
		stuck.wantPending(t)
		pass(1)
		stuck.wantUnknown(t, ferry.ErrStillOut)
		queued.wantNotSent(t, ferry.ErrClosed)
		if err := wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: got %v, want its context's error", err)
		}
		synctest.Wait()
		if got := goroutines(aWorker); got != 1 {
			t.Errorf("goroutines: got %d, want only that of the call", got)
		}
		p.submit("x1").wantNotSent(t, ferry.ErrClosed)
		p.wantStats(0, 0, 1)
		// A second Close waits for it.
		again, cancelAgain := p.closing()
		defer cancelAgain()
		p.land("a")
		if err := again(); err != nil {
			t.Errorf("second Close: got %v, want nil", err)
		}
		synctest.Wait()
		if got := goroutines(aWorker); got != 0 {
			t.Errorf("goroutines: got %d, want none", got)
		}
		p.wantLog("b1", "c1", "d1", "a1", "b2")
	})
}

func TestL24AnUnlimitedGraceWaitsForTheCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{CancelGrace: -1})
		tk := p.submit("a1")
		wait, cancel := p.closing()
		cancel()
		pass(1000 * time.Hour)
		tk.wantPending(t)
		p.land("a")
		tk.wantAnswer(t)
		if err := wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: got %v, want its context's error", err)
		}
	})
}

func TestL24CloseTwiceAndAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{CancelGrace: time.Second})
		tk := p.submit("a1")
		first, cancelFirst := p.closing()
		defer cancelFirst()
		second, cancelSecond := p.closing()
		third, cancelThird := p.closing()
		cancelSecond()
		cancelThird()
		wantEnded(t, p.trip("a").ctx, context.Canceled)
		pass(time.Second)
		for _, wait := range []func() error{second, third} {
			if err := wait(); !errors.Is(err, context.Canceled) {
				t.Errorf("Close: got %v, want its context's error", err)
			}
		}
		tk.wantUnknown(t, ferry.ErrStillOut)
		p.land("a")
		if err := first(); err != nil {
			t.Errorf("the Close that went on waiting: got %v, want nil", err)
		}
		for range 3 {
			if err := p.Close(context.Background()); err != nil {
				t.Errorf("Close again: got %v, want nil", err)
			}
		}
	})
}

// What has drained is closed, whatever has become of the context. Many times, as a select would toss a coin.
func TestL24CloseOfAnIdleFerryWithAnEndedContext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 50 {
			p := open(t, ferry.Config{})
			p.submit("a1")
			p.land("a")
			if err := p.Close(ended()); err != nil {
				t.Fatalf("got %v, want nil: there was nothing to give up", err)
			}
		}
	})
}

func TestL24CloseWithAnEndedContextGivesUpAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{CancelGrace: time.Second, Overflow: ferry.Wait, MaxInFlight: 1, MaxQueuedPerKey: 1, Linger: time.Hour})
		flying := p.submit("a1")
		queued, waiting := p.submit("a2"), p.submit("a3")
		start := time.Now()
		if err := p.Close(ended()); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: got %v, want its context's error", err)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v, want the grace", waited)
		}
		synctest.Wait()
		flying.wantUnknown(t, ferry.ErrStillOut)
		queued.wantNotSent(t, ferry.ErrClosed)
		waiting.wantNotSent(t, ferry.ErrClosed)
		p.land("a")
		p.wantLog("a1")
	})
}

func TestL24CallersMayLeaveDuringClose(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1})
		flying, queued := p.submit("a1"), p.submit("b1")
		wait, cancel := p.closing()
		defer cancel()
		queued.cancel()
		queued.wantNotSent(t, context.Canceled)
		flying.cancel()
		flying.wantUnknown(t, context.Canceled)
		p.land("a")
		if err := wait(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
}

// The last thing that a closing ferry waits for is taken back: nobody else is there to notice.
func TestL24TheLastInputIsTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, BatchTimeout: time.Second, CancelGrace: time.Second})
		p.submit("a1")
		last := p.submit("b1")
		wait, cancel := p.closing()
		defer cancel()
		p.land("a")
		p.wantOut("b1")
		last.cancel()
		p.land("b")
		if err := wait(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
}

func TestL24AFreshFerryCloses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := p.Flush(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
