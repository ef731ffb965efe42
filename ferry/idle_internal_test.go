package ferry

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// held is a ferry whose calls wait until gate is closed.
func held(cfg Config) (f *Ferry[int, int, int], gate chan struct{}) {
	gate = make(chan struct{})
	f = PerKey(cfg, func(in int) int { return in }, func(_ context.Context, _ int, ins []int) ([]int, error) {
		<-gate
		return ins, nil
	})
	return f, gate
}

func numbers(n int) []int {
	ins := make([]int, n)
	for i := range ins {
		ins[i] = i
	}
	return ins
}

func TestL25IdleHasNoLaneNoWorkerAndNoTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, gate := held(Config{Linger: time.Second, MaxInFlight: 8})
		go f.SubmitAll(t.Context(), numbers(20))
		time.Sleep(time.Second)
		synctest.Wait()
		f.mu.Lock()
		if len(f.lanes) != 20 || f.inFlight != 8 {
			t.Errorf("busy: got %d lanes, %d calls, want 20, 8", len(f.lanes), f.inFlight)
		}
		f.mu.Unlock()
		close(gate)
		synctest.Wait()
		f.mu.Lock()
		if len(f.lanes) != 0 || f.ready.len+f.linger.len+f.flying.len+f.line.len != 0 {
			t.Errorf("idle: got %d lanes, want none in any list", len(f.lanes))
		}
		if len(f.workers.parked) == 0 {
			t.Error("just idle: got no parked worker, want some")
		}
		f.mu.Unlock()
		time.Sleep(2 * idleFor)
		synctest.Wait()
		f.mu.Lock()
		if got := len(f.workers.parked); got != 0 {
			t.Errorf("workers: got %d, want none after a while", got)
		}
		f.mu.Unlock()
		f.workers.alive.Wait() // They have left, or this hangs the bubble.
		time.Sleep(f.flying.stay)
		synctest.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.linger.armed || f.flying.armed || f.workers.armed {
			t.Errorf("timers: got linger %v, flying %v, workers %v, want none armed", f.linger.armed, f.flying.armed, f.workers.armed)
		}
	})
}

// Workers that are needed now and then stay; only those that were not needed leave.
func TestL25OnlyWorkersThatNobodyNeedsLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, gate := held(Config{})
		close(gate)
		go f.SubmitAll(t.Context(), numbers(3))
		for range 20 {
			if _, err := f.Submit(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(idleFor / 2)
		}
		synctest.Wait()
		f.mu.Lock()
		if got := len(f.workers.parked); got != 1 {
			t.Errorf("workers: got %d, want the one that is used", got)
		}
		f.mu.Unlock()
		if err := f.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestL25TheMapIsMadeAnewAfterAPeak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const peak = 100_000
		f, gate := held(Config{MaxQueued: -1, MaxInFlight: 1})
		first := reflect.ValueOf(f.lanes).Pointer()
		done := make(chan []error)
		go func() {
			_, errs := f.SubmitAll(t.Context(), numbers(peak))
			done <- errs
		}()
		synctest.Wait()
		f.mu.Lock()
		if len(f.lanes) != peak {
			t.Errorf("peak: got %d lanes, want %d", len(f.lanes), peak)
		}
		f.mu.Unlock()
		close(gate)
		for i, err := range <-done {
			if err != nil {
				t.Fatalf("input %d: %v", i, err)
			}
		}
		synctest.Wait()
		f.mu.Lock()
		if reflect.ValueOf(f.lanes).Pointer() == first || f.peak >= shrinkAt || len(f.spare) > maxSpare {
			t.Errorf("after the peak: got room for %d lanes and %d spare ones, want a new map", f.peak, len(f.spare))
		}
		f.mu.Unlock()
		if err := f.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// What is kept to be used again keeps nothing alive: no input, no context, no answer.
func TestL25WhatIsKeptForLaterHoldsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := PerKey(Config{}, func(in *int) int { return *in }, func(_ context.Context, _ int, ins []*int) ([]*int, error) { return ins, nil })
		for range 10 {
			if _, err := f.Submit(t.Context(), new(int)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		w := f.idle.Get().(*waiter[int, *int, *int])
		if w.in != nil || w.out != nil || w.ctx != nil || w.lane != nil || w.line != nil || w.flush != nil || w.err != nil || w.node.prev != nil || w.node.next != nil {
			t.Errorf("waiter: got %+v, want an empty one", w)
		}
		for _, l := range f.spare {
			if l.batch != nil || l.queue.head != nil || l.line.head != nil || l.flushes != 0 || l.places != 0 || l.stage != empty {
				t.Errorf("lane: got %+v, want an empty one", l)
			}
		}
		if err := f.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// The clock is read before the lock is taken, so an input may arrive "after" the start of its call.
func TestABatchsWaitIsNotNegative(t *testing.T) {
	t.Parallel()
	f, _ := held(Config{})
	b := &batch[int, int, int]{ferry: f, oldest: 2}
	b.node.since = 1
	if got := b.info().Wait; got != 0 {
		t.Errorf("got %v, want 0", got)
	}
}
