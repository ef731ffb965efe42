package ferry

import (
	"context"
	"errors"
	"sync"
	"time"
)

// callContext is the context of one call. Calls to a quick store are over in less time than it takes to make a context
// of the standard library with a deadline, so that one is made when somebody asks for what only it can give.
type callContext[K comparable, I, O any] struct {
	ferry *Ferry[K, I, O]
	batch *batch[K, I, O] // guarded by ferry.mu; nil once its callers are answered
	first context.Context // the caller whose values these are
	start time.Duration

	mu       sync.Mutex
	standard context.Context    // guarded by mu; nil until asked for
	cancel   context.CancelFunc // guarded by mu; of standard
	ended    error              // guarded by mu; set when cancelled, or seen to be past the deadline
	returned bool               // guarded by mu; the call has
}

// end cancels the context.
func (c *callContext[K, I, O]) end(returned bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.returned = c.returned || returned
	// A deadline that nobody has seen passing has not passed: the clock is not asked.
	if c.ended == nil && c.standard != nil {
		c.ended = c.standard.Err()
	}
	if c.ended == nil {
		c.ended = context.Canceled
	}
	if c.cancel != nil {
		c.cancel()
	}
}

// passed answers why the context has ended, if it has by itself. c.mu is held.
func (c *callContext[K, I, O]) passed() error {
	if c.standard != nil {
		return c.standard.Err()
	}
	if deadline, ok := c.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// Deadline is part of [context.Context].
func (c *callContext[K, I, O]) Deadline() (time.Time, bool) {
	if timeout := c.ferry.cfg.BatchTimeout; timeout > 0 {
		return c.ferry.clock.time(c.start).Add(timeout), true
	}
	return time.Time{}, false
}

// Done is part of [context.Context].
func (c *callContext[K, I, O]) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standard == nil {
		if deadline, ok := c.Deadline(); ok && !errors.Is(c.ended, context.Canceled) {
			c.standard, c.cancel = context.WithDeadline(context.Background(), deadline)
		} else {
			c.standard, c.cancel = context.WithCancel(context.Background())
		}
		if c.ended != nil {
			c.cancel()
		}
	}
	return c.standard.Done()
}

// Err is part of [context.Context].
func (c *callContext[K, I, O]) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = c.passed()
	}
	return c.ended
}

// callersKey asks a batch's context for the contexts of its callers.
type callersKey struct{}

// Value is part of [context.Context]. It answers whether this is the inside of a call of the ferry that the key is, and
// otherwise the values of the first caller, without its cancellation.
func (c *callContext[K, I, O]) Value(key any) any {
	c.mu.Lock()
	standard, returned := c.standard, c.returned
	c.mu.Unlock()
	if key == any(c.ferry) && !returned {
		return true
	}
	if key == (callersKey{}) {
		return c.callers
	}
	if standard != nil {
		// The standard library looks for its own cancellation here, and spares contexts derived from this one
		// a goroutine if it finds it.
		if v := standard.Value(key); v != nil {
			return v
		}
	}
	return context.WithoutCancel(c.first).Value(key)
}

func (c *callContext[K, I, O]) callers() []context.Context {
	c.ferry.mu.Lock()
	defer c.ferry.mu.Unlock()
	if c.batch == nil {
		return nil
	}
	ctxs := make([]context.Context, 0, c.batch.waiters.len)
	for w := range c.batch.waiters.all {
		ctxs = append(ctxs, w.ctx)
	}
	return ctxs
}

// Callers answers the contexts of all callers of a batch, in the order of its inputs, given the context of its call or
// one derived from it: to link traces, not to cancel by. It answers nil elsewhere, and nothing once the callers
// have been answered.
func Callers(ctx context.Context) []context.Context {
	callers, ok := ctx.Value(callersKey{}).(func() []context.Context)
	if !ok {
		return nil
	}
	return callers()
}
