// Package group runs what callers hand in one batch after the other: while a batch is under way the next one gathers.
//
// That is group commit without a timer. A lone caller waits for nobody, and as many as wait share one batch.
package group

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrClosed is the answer of a group that was closed before it took the operation.
var ErrClosed = errors.New("closed")

// Group is some goroutines that run batches. Make one with [New].
type Group[T any] struct {
	max    int
	run    func(context.Context, []T) []error
	queue  chan *call[T] // Unbuffered: what was not received was never taken, and Close leaves nothing behind in it.
	closed chan struct{}
	close  sync.Once
	done   sync.WaitGroup
}

type call[T any] struct {
	ctx    context.Context
	op     T
	answer chan error
}

// New starts a group of so many workers, each of which gives run at most max operations at a time, in the order of
// their callers. run answers one error per operation, in order, and must not panic. Its context ends when none of the
// batch's callers waits any more. Close ends the group.
func New[T any](workers, max int, run func(ctx context.Context, batch []T) []error) *Group[T] {
	g := &Group[T]{max: max, run: run, queue: make(chan *call[T]), closed: make(chan struct{})}
	for range workers {
		g.done.Go(g.loop)
	}
	return g
}

// Do hands in op and answers its error. It answers ErrClosed only if op will never run. When ctx ends Do answers
// the context's error at once: op may have run, may be running, or may never run.
func (g *Group[T]) Do(ctx context.Context, op T) error {
	c := &call[T]{ctx: ctx, op: op, answer: make(chan error, 1)}
	select {
	case g.queue <- c:
	case <-g.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.answer:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-c.answer: // Both were ready: the answer wins.
		return err
	default:
		return ctx.Err()
	}
}

// Close refuses new operations and waits for those that were taken.
func (g *Group[T]) Close() {
	g.close.Do(func() { close(g.closed) })
	g.done.Wait()
}

func (g *Group[T]) loop() {
	for {
		select {
		case c := <-g.queue:
			g.answer(g.gather(c))
		case <-g.closed:
			return
		}
	}
}

// gather takes what waits. Callers that were answered a moment ago get one turn to come back: without it every
// second batch is as good as empty.
func (g *Group[T]) gather(first *call[T]) []*call[T] {
	batch := []*call[T]{first}
	runtime.Gosched()
	for len(batch) < g.max {
		select {
		case c := <-g.queue:
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

// answer runs those of batch whose callers still wait.
func (g *Group[T]) answer(batch []*call[T]) {
	batch = slices.DeleteFunc(batch, func(c *call[T]) bool { return c.ctx.Err() != nil })
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var waiting atomic.Int64
	waiting.Store(int64(len(batch)))
	ops := make([]T, len(batch))
	for i, c := range batch {
		ops[i] = c.op
		stop := context.AfterFunc(c.ctx, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})
		defer stop()
	}
	for i, err := range g.run(ctx, ops) {
		batch[i].answer <- err
	}
}
