package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/backends/internal/group"
)

// gate is a run function that waits to be let through, batch by batch, and notes what it got.
type gate struct {
	batches [][]int
	through chan struct{}
}

func (g *gate) run(_ context.Context, batch []int) []error {
	<-g.through
	g.batches = append(g.batches, slices.Clone(batch))
	errs := make([]error, len(batch))
	for i, n := range batch {
		if n < 0 {
			errs[i] = fmt.Errorf("failed %d", n)
		}
	}
	return errs
}

func TestWhatWaitsIsOneBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{through: make(chan struct{})}
		group := group.New(1, 4, g.run)
		var all sync.WaitGroup
		for _, n := range []int{1, 2, -3, 4, 5, 6} {
			all.Go(func() {
				if err := group.Do(t.Context(), n); (err == nil) != (n > 0) || err != nil && err.Error() != fmt.Sprint("failed ", n) {
					t.Errorf("%d: got %v, want its own answer", n, err)
				}
			})
			synctest.Wait()
		}
		close(g.through)
		all.Wait()
		group.Close()
		if got, want := fmt.Sprint(g.batches), "[[1] [2 -3 4 5] [6]]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestCallerThatLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{through: make(chan struct{})}
		group := group.New(1, 4, g.run)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		for n := range 3 {
			all.Go(func() {
				if err := group.Do(ctx, n+1); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%d: got %v, want the context's error", n+1, err)
				}
			})
			synctest.Wait()
		}
		all.Wait() // The first under way, the others waiting.
		close(g.through)
		if err := group.Do(t.Context(), 4); err != nil {
			t.Errorf("got %v, want an answer for who comes after", err)
		}
		group.Close()
		if got, want := fmt.Sprint(g.batches), "[[1] [4]]"; got != want {
			t.Errorf("got %s, want %s: only what was under way runs on", got, want)
		}
	})
}

// A caller that leaves between being taken and being run is left out.
func TestTakenButGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var runs [][]int
		group := group.New(1, 4, func(_ context.Context, batch []int) []error {
			runs = append(runs, slices.Clone(batch))
			cancel()
			return make([]error, len(batch))
		})
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() { group.Do(ctx, n) })
		}
		all.Wait()
		group.Close()
		if len(runs) != 1 {
			t.Errorf("got batches %v, want the first alone", runs)
		}
	})
}

// A batch is given up when its last caller has left, and not before.
func TestContextOfABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var ended []time.Duration
		group := group.New(1, 4, func(ctx context.Context, batch []int) []error {
			<-ctx.Done()
			ended = append(ended, time.Since(begin))
			return make([]error, len(batch))
		})
		var all sync.WaitGroup
		for n := range 3 {
			// The first is a batch of its own, the others gather behind it.
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+n)*time.Second)
			defer cancel()
			all.Go(func() { group.Do(ctx, n) })
			synctest.Wait()
		}
		all.Wait()
		group.Close()
		if want := []time.Duration{time.Second, 3 * time.Second}; !slices.Equal(ended, want) {
			t.Errorf("ended after %v, want %v", ended, want)
		}
	})
}

// Several workers: one that hangs does not hold up the others.
func TestWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		group := group.New(2, 4, func(ctx context.Context, batch []int) []error {
			if batch[0] == 0 {
				<-ctx.Done()
			}
			return make([]error, len(batch))
		})
		ctx, cancel := context.WithCancel(t.Context())
		var hanging sync.WaitGroup
		hanging.Go(func() { group.Do(ctx, 0) })
		synctest.Wait()
		for n := range 5 {
			if err := group.Do(t.Context(), n+1); err != nil {
				t.Errorf("got %v, want an answer", err)
			}
		}
		cancel()
		hanging.Wait()
		group.Close()
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{through: make(chan struct{})}
		grouped := group.New(1, 4, g.run)
		answers := make(chan error, 3)
		for n := range 2 {
			go func() { answers <- grouped.Do(t.Context(), n) }()
			synctest.Wait()
		}
		closed := make(chan struct{})
		for range 2 {
			go func() {
				grouped.Close()
				closed <- struct{}{}
			}()
		}
		if err := <-answers; !errors.Is(err, group.ErrClosed) {
			t.Errorf("what waited: got %v, want ErrClosed", err)
		}
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close did not wait for what was under way")
		default:
		}
		close(g.through)
		if err := <-answers; err != nil {
			t.Errorf("what was under way: got %v, want its answer", err)
		}
		<-closed
		<-closed
		if err := grouped.Do(t.Context(), 3); !errors.Is(err, group.ErrClosed) {
			t.Errorf("after Close: got %v, want ErrClosed", err)
		}
	})
}
