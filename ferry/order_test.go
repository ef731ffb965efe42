package ferry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/ferry"
)

func TestL16AndL17ArrivalsDuringABatchFormTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		first := p.submit("a1")
		p.wantOut("a1")
		last := p.submit("a2", "a3", "a4")
		p.wantOut("a1")
		p.land("a")
		first.wantAnswer(t)
		p.wantOut("a2 a3 a4")
		p.land("a")
		last.wantAnswer(t)
	})
}

func TestL16AFailedBatchDoesNotStopTheLane(t *testing.T) {
	boom := errors.New("boom")
	fail := func() ([]string, error) { return nil, boom }
	for name, answer := range map[string]func() ([]string, error){
		"error":        fail,
		"panic":        func() ([]string, error) { panic(boom) },
		"wrong number": func() ([]string, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := open(t, ferry.Config{MaxBatch: 2})
				first := p.submit("a1")
				p.submit("a2", "a3", "a4")
				p.finish("a", answer)
				if first.err() == nil {
					t.Fatal("a1: got no error")
				}
				p.wantOut("a2 a3")
				p.finish("a", answer)
				p.wantOut("a4")
				p.land("a")
				p.wantLog("a1", "a2 a3", "a4")
			})
		})
	}
}

func TestL16ALaneRemadeIsTheSameLane(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		for i := range 5 {
			p.submit(fmt.Sprint("a", i))
			p.wantOut(fmt.Sprint("a", i))
			p.land("a")
			p.wantRest()
		}
	})
}

// The lane is forgotten and made again all the time here, while callers come and leave.
func TestL16OneBatchOfAKeyWhileLanesAreRemadeAndCallersLeave(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	out, calls := map[int]int{}, 0
	f := ferry.PerKey(ferry.Config{MaxBatch: 3}, func(in int) int { return in % 3 }, func(_ context.Context, key int, ins []int) ([]int, error) {
		mu.Lock()
		out[key]++
		calls++
		if out[key] != 1 {
			t.Errorf("calls of key %d out: got %d, want 1", key, out[key])
		}
		mu.Unlock()
		time.Sleep(time.Duration(len(ins)) * time.Microsecond) // Gives others a chance to run; nothing is timed.
		mu.Lock()
		out[key]--
		mu.Unlock()
		return ins, nil
	})
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					go cancel()
				}
				_, _ = f.Submit(ctx, g+i)
				cancel()
			}
		})
	}
	wg.Wait()
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if calls == 0 {
		t.Fatal("nothing was called")
	}
}

func TestL16OrderOfAcceptanceUnderConcurrency(t *testing.T) {
	t.Parallel()
	// Each caller submits in its own order, so the call must see every caller's inputs of a key in that order.
	const callers, each = 8, 200
	seen := map[string][]string{}
	var mu sync.Mutex
	f := ferry.PerKey(ferry.Config{MaxBatch: 5, MaxQueued: 6, Overflow: ferry.Wait}, keyOf, func(_ context.Context, key string, ins []string) ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[key] = append(seen[key], ins...)
		if len(seen[key])%7 == 0 {
			return nil, errors.New("now and then a batch fails")
		}
		return ins, nil
	})
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			var all []string
			for i := range each {
				all = append(all, fmt.Sprintf("%c-%d-%03d", "ab"[i%2], g, i))
			}
			f.SubmitAll(t.Context(), all[:each/2])
			for _, in := range all[each/2:] {
				_, _ = f.Submit(t.Context(), in)
			}
		})
	}
	wg.Wait()
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, ins := range seen {
		if len(ins) != callers*each/2 {
			t.Errorf("key %s: got %d inputs, want %d", key, len(ins), callers*each/2)
		}
		for g := range callers {
			mine := slices.DeleteFunc(slices.Clone(ins), func(in string) bool { return !strings.HasPrefix(in, fmt.Sprintf("%s-%d-", key, g)) })
			if !slices.IsSorted(mine) {
				t.Errorf("key %s, caller %d: got %q, want ascending", key, g, mine)
			}
		}
	}
}

func TestL18NeverMoreThanMaxInFlightAndReadyLanesInTheirOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 2})
		p.submit("a1", "b1", "c1", "d1", "e1")
		p.wantOut("a1", "b1")
		p.wantStats(0, 3, 2)
		p.land("b")
		p.wantOut("a1", "c1")
		p.land("c")
		p.wantOut("a1", "d1")
		p.land("a")
		p.wantOut("d1", "e1")
		p.landAll()
	})
}

func TestL18AllSlotsAreUsed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 4})
		p.submit("a1")
		p.land("a") // One worker is parked when the others are needed.
		p.submit("a2", "b1", "c1", "d1")
		p.wantOut("a2", "b1", "c1", "d1")
		p.landAll()
		// All at once, from one goroutine that does not rest in between.
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.SubmitAll(t.Context(), []string{"a", "b", "c", "d", "e", "f"})
		}()
		synctest.Wait()
		p.wantOut("a", "b", "c", "d")
		p.landAll()
		<-done
	})
}

func TestL18ABatchIsClosedWhenItsSlotIsGranted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1})
		p.submit("a1", "b1", "c1", "b2", "b3")
		p.wantOut("a1")
		p.land("a")
		p.wantOut("b1 b2 b3")
		p.submit("c2")
		p.land("b")
		p.wantOut("c1 c2")
		p.land("c")
	})
}

func TestL18TheSlotGoesBackAfterEveryBatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1, MaxBatch: 1})
		p.submit(many("h", 5)...) // A hot key has more to send all the time, but no more turns.
		p.submit("c1", "c2", "d1")
		for _, want := range []string{"h1", "c1", "d1", "h2", "c2", "h3", "h4", "h5"} {
			p.wantOut(want)
			p.landAllOnce()
		}
		p.wantOut()
	})
}

// landAllOnce lets each call that is out succeed, once.
func (p *port) landAllOnce() {
	p.t.Helper()
	p.land(p.keysOut()...)
}

func TestL18FailuresGiveTheSlotBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 2})
		for i, answer := range []func() ([]string, error){
			func() ([]string, error) { return nil, errors.New("no") },
			func() ([]string, error) { panic("no") },
			func() ([]string, error) { return []string{"too", "many"}, nil },
			func() ([]string, error) { panic(errors.New("no")) },
		} {
			in := fmt.Sprint(string(rune('a'+i)), 1)
			p.submit(in)
			p.finish(in[:1], answer)
		}
		p.submit("x1", "y1", "z1")
		p.wantOut("x1", "y1")
		p.landAll()
	})
}

func TestL17ManyKeysAreIndependent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		slow, quick := p.submit("a1"), p.submit("b1")
		p.wantOut("a1", "b1")
		p.land("b")
		quick.wantAnswer(t)
		slow.wantPending(t)
		p.submit("b2")
		p.wantOut("a1", "b2")
		p.land("b", "a")
		slow.wantAnswer(t)
	})
}

func TestMaxBatchByCountAndByWeight(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxBatch: 3, MaxWeight: 10})
		p.submit("a0", "a1*4", "a2*4", "a3*2", "a4*10", "a5*1", "a6*9", "a7*0", "a8*0", "a9*0")
		for range 10 {
			p.landAllOnce()
		}
		p.wantLog("a0", "a1*4 a2*4 a3*2", "a4*10", "a5*1 a6*9 a7*0", "a8*0 a9*0")
	})
}

func TestSubmitAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxQueued: 3, MaxQueuedPerKey: 2, MaxWeight: 5, MaxInFlight: 1})
		block := p.submit("z1")
		var outs []string
		var errs []error
		go func() {
			outs, errs = p.SubmitAll(t.Context(), []string{"a1", "b1", "a2", "a3", "b2*6", "c1", "b3"})
		}()
		synctest.Wait()
		p.land("z")
		block.wantAnswer(t)
		p.wantOut("a1 a2")
		p.land("a")
		p.wantOut("b1")
		boom := errors.New("boom")
		p.finish("b", func() ([]string, error) { return nil, boom })
		if want := []string{"a1", "", "a2", "", "", "", ""}; !slices.Equal(outs, want) {
			t.Errorf("outputs: got %q, want %q", outs, want)
		}
		if errs[0] != nil || errs[2] != nil {
			t.Errorf("errors of a: got %v, %v, want nil", errs[0], errs[2])
		}
		wantError(t, "b1", errs[1], boom, true)
		wantBound(t, errs[3], ferry.MaxQueuedPerKey)
		wantError(t, "b2*6", errs[4], ferry.ErrWeight, false)
		wantBound(t, errs[5], ferry.MaxQueued)
		wantBound(t, errs[6], ferry.MaxQueued)
	})
}

func TestSubmitAllOfNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		if outs, errs := p.SubmitAll(t.Context(), nil); len(outs)+len(errs) != 0 {
			t.Errorf("got %v, %v, want nothing", outs, errs)
		}
	})
}

func TestSubmitAllSharesABatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{Linger: time.Second})
		done := make(chan []string)
		go func() {
			outs, _ := p.SubmitAll(t.Context(), []string{"a1", "b1", "a2", "a3"})
			done <- outs
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		p.wantOut("a1 a2 a3", "b1")
		p.land("b", "a") // The second lane answers first.
		if got, want := <-done, []string{"a1", "b1", "a2", "a3"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestSubmitAllWithAnEndedContext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		_, errs := p.SubmitAll(ended(), []string{"a1", "b1"})
		for _, err := range errs {
			wantError(t, "ended", err, context.Canceled, false)
		}
		p.wantLog()
	})
}

func TestSubmitAllLeavesAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxBatch: 1, MaxQueuedPerKey: 2, Overflow: ferry.Wait})
		ctx, cancel := context.WithCancel(t.Context())
		var errs []error
		go func() { _, errs = p.SubmitAll(ctx, many("a", 6)) }()
		synctest.Wait()
		p.wantStats(3, 2, 1)
		cancel()
		synctest.Wait()
		for i, err := range errs {
			wantError(t, fmt.Sprint("a", i+1), err, context.Canceled, i == 0)
		}
		p.wantStats(0, 0, 1)
		p.land("a")
		p.wantLog("a1")
	})
}
