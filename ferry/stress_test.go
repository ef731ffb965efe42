package ferry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/goferry/goferry/ferry"
)

// crate is an input that knows who submitted it, as his how manieth.
type crate struct{ key, caller, n int }

// hold is what the calls of a stress saw.
type hold struct {
	t        *testing.T
	limit    int
	maxBatch int
	mu       sync.Mutex
	out      map[int]int
	total    int
	seen     map[crate]int
	last     map[[2]int]int // the last number of each caller, by key
}

func (h *hold) enter(key int, ins []crate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.out[key]++
	h.total++
	if h.out[key] != 1 || h.total > h.limit {
		h.t.Errorf("calls out: got %d of key %d, %d in all, want 1, at most %d", h.out[key], key, h.total, h.limit)
	}
	if len(ins) == 0 || len(ins) > h.maxBatch {
		h.t.Errorf("batch: got %d inputs, want 1 to %d", len(ins), h.maxBatch)
	}
	for _, in := range ins {
		h.seen[in]++
		if in.key != key || h.last[[2]int{key, in.caller}] >= in.n {
			h.t.Errorf("call of key %d: got %+v after number %d", key, in, h.last[[2]int{key, in.caller}])
		}
		h.last[[2]int{key, in.caller}] = in.n
	}
}

func (h *hold) leave(key int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.out[key]--
	h.total--
}

// Hot keys, callers that leave, calls that fail in every way. Afterwards the books must agree: what was answered was
// sent once, what was not sent was not seen, and nothing was answered by another's answer.
func TestStress(t *testing.T) {
	t.Parallel()
	for name, overflow := range map[string]ferry.Overflow{"Reject": ferry.Reject, "Wait": ferry.Wait, "WaitUpTo": ferry.WaitUpTo(50 * time.Microsecond)} {
		for _, linger := range []time.Duration{0, 20 * time.Microsecond} {
			t.Run(fmt.Sprint(name, linger), func(t *testing.T) {
				t.Parallel()
				stress(t, ferry.Config{MaxBatch: 4, MaxQueued: 12, MaxQueuedPerKey: 8, MaxQueuedWeight: 20, MaxInFlight: 2, Overflow: overflow, Linger: linger})
			})
		}
	}
}

func stress(t *testing.T, cfg ferry.Config) {
	const callers, each, keys, seed = 24, 150, 3, 1
	h := &hold{t: t, limit: cfg.MaxInFlight, maxBatch: cfg.MaxBatch, out: map[int]int{}, seen: map[crate]int{}, last: map[[2]int]int{}}
	var calls atomic.Int64
	cfg.Observer.BatchStarted = func(ctx context.Context, b ferry.Batch) context.Context {
		if b.Wait < 0 {
			t.Errorf("wait: got %v", b.Wait)
		}
		return ctx
	}
	f := ferry.PerKeyWeighed(cfg, func(in crate) int { return in.key }, func(in crate) int { return in.n % 4 }, func(_ context.Context, key int, ins []crate) ([]crate, error) {
		h.enter(key, ins)
		defer h.leave(key)
		runtime.Gosched()
		switch calls.Add(1) % 9 {
		case 0:
			return nil, errBoom
		case 1:
			panic(errBoom)
		case 2:
			runtime.Goexit()
		case 3:
			return ins[1:], nil
		}
		return ins, nil
	})
	results := make([][]error, callers)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() { watch(t, f, cfg, stop) })
	var submitters sync.WaitGroup
	for c := range callers {
		submitters.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(c)))
			for n := range each {
				in := crate{random.IntN(keys), c, n + 1}
				ctx, cancel := context.WithCancel(context.Background())
				if random.IntN(4) == 0 {
					go cancel()
				}
				out, err := f.Submit(ctx, in)
				cancel()
				if err == nil && out != in {
					t.Errorf("seed %d: %+v: got the answer of %+v", seed, in, out)
				}
				h.mu.Lock()
				seen := h.seen[in]
				h.mu.Unlock()
				if seen > 1 || err == nil && seen != 1 || ferry.NotSent(err) && seen != 0 {
					t.Errorf("seed %d: %+v: got %v, and it was sent %d times", seed, in, err, seen)
				}
				results[c] = append(results[c], err)
			}
		})
	}
	submitters.Wait()
	close(stop)
	wg.Wait()
	if err := f.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if s := f.Stats(); s.Lanes+s.Waiting+s.Queued+s.QueuedWeight+s.InFlight != 0 {
		t.Errorf("at rest: got %+v", s)
	}
	checkVariety(t, slices.Concat(results...))
}

// watch polls the bounds from outside, with flushes among it.
func watch(t *testing.T, f *ferry.Ferry[int, crate, crate], cfg ferry.Config, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		s := f.Stats()
		if s.Queued > cfg.MaxQueued || s.QueuedWeight > cfg.MaxQueuedWeight || s.InFlight > cfg.MaxInFlight {
			t.Errorf("bounds: got %+v", s)
		}
		if err := f.Flush(context.Background()); err != nil {
			t.Error(err)
		}
		runtime.Gosched()
	}
}

// checkVariety guards against a stress in which nothing happens.
func checkVariety(t *testing.T, errs []error) {
	kinds := map[string]bool{}
	for _, err := range errs {
		_, panicked := errors.AsType[*ferry.PanicError](err)
		_, miscounted := errors.AsType[*ferry.CountError](err)
		switch {
		case err == nil:
			kinds["answered"] = true
		case errors.Is(err, context.Canceled):
			kinds["left"] = true
		case panicked:
			kinds["panic"] = true
		case miscounted:
			kinds["count"] = true
		case errors.Is(err, ferry.ErrGoexit):
			kinds["goexit"] = true
		}
	}
	if len(kinds) != 5 {
		t.Errorf("kinds of answers: got %v, want all five", kinds)
	}
}

// Close beside submits: whoever is accepted has an answer, and nothing is called after Close has returned.
func TestStressClose(t *testing.T) {
	t.Parallel()
	for round := range 100 {
		var closed atomic.Bool
		f := ferry.PerKey(ferry.Config{MaxQueued: 3, Overflow: ferry.Wait}, func(in int) int { return in % 2 }, func(_ context.Context, _ int, ins []int) ([]int, error) {
			if closed.Load() {
				t.Errorf("round %d: a call after Close", round)
			}
			return ins, nil
		})
		var wg sync.WaitGroup
		for in := range 20 {
			wg.Go(func() {
				if _, err := f.Submit(context.Background(), in); err != nil && !(errors.Is(err, ferry.ErrClosed) && ferry.NotSent(err)) {
					t.Errorf("round %d: got %v, want an answer or ErrClosed", round, err)
				}
			})
		}
		for range 2 {
			wg.Go(func() {
				if err := f.Close(context.Background()); err != nil {
					t.Errorf("round %d: Close: %v", round, err)
				}
				closed.Store(true)
			})
		}
		wg.Wait()
	}
}

// addition is an operation on a counter of a key: its answer is the sum before it.
type addition struct{ key, n int }

// counters is the model of porcupine for one key.
var counters = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[int][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(addition).key
			byKey[key] = append(byKey[key], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return 0 },
	Step: func(state, in, out any) (bool, any) {
		sum := state.(int)
		return out == nil || out == sum, sum + in.(addition).n // Without an answer anything may have been it.
	},
}

// The store takes no lock of its own: lanes alone make its counters linearizable.
func TestL16CountersThroughLanesAreLinearizable(t *testing.T) {
	t.Parallel()
	const callers, each, keys = 8, 40, 3
	var sums [keys]int // The lanes order all access to each.
	f := ferry.PerKey(ferry.Config{MaxBatch: 3}, func(in addition) int { return in.key }, func(_ context.Context, key int, ins []addition) ([]int, error) {
		outs := make([]int, len(ins))
		for i, in := range ins {
			outs[i] = sums[key]
			runtime.Gosched()
			sums[key] += in.n
		}
		return outs, nil
	})
	var step atomic.Int64 // Every event has its own number: equal times would count as concurrent.
	histories := make([][]porcupine.Operation, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(c)))
			for range each {
				op := porcupine.Operation{ClientId: c, Input: addition{random.IntN(keys), 1 + random.IntN(5)}, Call: step.Add(1)}
				out, err := f.Submit(t.Context(), op.Input.(addition))
				if err != nil {
					t.Error(err)
				}
				op.Output, op.Return = out, step.Add(1)
				histories[c] = append(histories[c], op)
			}
		})
	}
	wg.Wait()
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := porcupine.CheckOperationsTimeout(counters, slices.Concat(histories...), 20*time.Second); got != porcupine.Ok {
		t.Errorf("history: got %v, want linearizable", got)
	}
}
