//go:build !race

package ferry_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/goferry/goferry/ferry"
)

// The tests in this file count allocations and goroutines of the whole process, so none is parallel.

func TestAllocationsOfABatchOfOne(t *testing.T) {
	outs := make([]int, 1)
	f := ferry.PerKey(ferry.Config{}, func(in int) int { return in }, func(context.Context, int, []int) ([]int, error) { return outs, nil })
	ctx := t.Context()
	submit := func() {
		if _, err := f.Submit(ctx, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := testing.AllocsPerRun(2000, submit); got > 6 {
		t.Errorf("allocations: got %v, want at most 6", got)
	}
	if err := f.Close(ctx); err != nil {
		t.Error(err)
	}
}

// Callers wait for each batch together, so all batches after the first are full.
func TestAllocationsOfAFullBatch(t *testing.T) {
	const size, rounds = 16, 200
	var calls int
	outs := make([]int, size)
	f := ferry.PerKey(ferry.Config{MaxBatch: size, Linger: 1 << 62}, func(in int) int { return 0 }, func(_ context.Context, _ int, ins []int) ([]int, error) {
		calls++
		return outs[:len(ins)], nil
	})
	ctx := t.Context()
	run := func(rounds int) {
		var wg sync.WaitGroup
		for in := range size {
			wg.Go(func() {
				for range rounds {
					if _, err := f.Submit(ctx, in); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
	run(10)
	calls = 0
	before := mallocs()
	run(rounds)
	perSubmit := float64(mallocs()-before) / (size * rounds)
	if calls != rounds {
		t.Fatalf("calls: got %d, want %d: every batch full", calls, rounds)
	}
	if perSubmit > 1 {
		t.Errorf("allocations per submit: got %v, want at most 1", perSubmit)
	}
	if err := f.Close(ctx); err != nil {
		t.Error(err)
	}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// heap answers the bytes in use after what is garbage, and what pools hold for later, is gone.
func heap() int64 {
	for range 4 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The fixed part, such as what is kept to be used again, is there after the small peak: the large one adds nothing.
func TestL25IdleKeysCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const small, large = 4_000, 100_000
		var gate chan struct{}
		f := ferry.PerKey(ferry.Config{MaxQueued: -1, MaxInFlight: 50}, func(in int) int { return in }, func(_ context.Context, _ int, ins []int) ([]int, error) {
			<-gate
			return ins, nil
		})
		peak := func(keys int) (during, after int64) {
			gate = make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				ins := make([]int, keys)
				for i := range ins {
					ins[i] = i
				}
				f.SubmitAll(context.Background(), ins)
			}()
			synctest.Wait()
			if got := f.Stats().Lanes; got != keys {
				t.Fatalf("lanes: got %d, want %d", got, keys)
			}
			during = heap()
			close(gate)
			<-done
			pass(1e9)
			if got := goroutines(aWorker); got != 0 {
				t.Errorf("workers: got %d, want none", got)
			}
			return during, heap()
		}
		_, before := peak(small)
		during, after := peak(large)
		if during-before < 100*large {
			t.Fatalf("bytes at the peak: got %d, want what shows that they are measured", during-before)
		}
		if after-before > large {
			t.Errorf("bytes after the peak: got %d for %d keys, want at most one a key", after-before, large)
		}
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
