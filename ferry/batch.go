package ferry

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"
)

// batch is one call: the inputs it carries, its answer, and its context, which is the batch itself. Calls to a
// quick store are over in less time than it takes to make a context of the standard library with a deadline,
// so that one is made when somebody asks for what only it can give.
type batch[K comparable, I, O any] struct {
	ferry   *Ferry[K, I, O]
	node    node[*batch[K, I, O]] // in flying, until answered; since is its start
	lane    *lane[K, I, O]        // until the batch is finished
	key     K
	ins     []I
	waiters list[*waiter[K, I, O]] // guarded by ferry.mu; empty once they are settled
	values  context.Context        // of the first caller
	oldest  time.Duration          // the submission of the first input
	weight  int
	flush   []*flush // guarded by ferry.mu; those that wait for the batch
	lanes   int      // of the ferry, when it was filled
	told    Batch    // what observers are told; made when there is one
	outs    []O      // written by the call's goroutine
	err     error    // likewise

	mu       sync.Mutex
	standard context.Context    // guarded by mu; nil until asked for
	cancel   context.CancelFunc // guarded by mu; of standard
	ended    error              // guarded by mu; set when cancelled, or seen to be past the deadline
	returned bool               // guarded by mu; the call has
}

func newBatch[K comparable, I, O any](f *Ferry[K, I, O]) *batch[K, I, O] {
	b := &batch[K, I, O]{ferry: f}
	b.node.value = b
	return b
}

// run makes the call. A panic is its error, and so is a Goexit, which ends this goroutine after that.
func (b *batch[K, I, O]) run() {
	b.err = ErrGoexit // Unless it returns or panics.
	var ctx context.Context = b
	defer func() {
		if v := recover(); v != nil {
			b.err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		b.end(true)
		b.ferry.cfg.Observer.ended(ctx, b.told, b.err)
	}()
	if b.ferry.cfg.Observer.watchesBatches() {
		b.told = b.info()
		ctx = b.ferry.cfg.Observer.started(b, b.told)
	}
	b.outs, b.err = b.ferry.call(ctx, b.key, b.ins)
	if b.err == nil && len(b.outs) != len(b.ins) {
		b.err = &CountError{Got: len(b.outs), Want: len(b.ins)}
	}
}

// answer gives waiters, who were those of b, the answer of the call.
func (b *batch[K, I, O]) answer(waiters list[*waiter[K, I, O]], err error) {
	if waiters.len == 0 {
		return // They were answered before: the call was out for too long.
	}
	if err != nil {
		err = &Error{Key: b.key, Sent: true, Err: err}
	}
	i := 0
	for w := range waiters.all {
		if err == nil {
			w.out = b.outs[i]
		}
		w.answer(err)
		i++
	}
}

// info is what an observer is told.
func (b *batch[K, I, O]) info() Batch {
	return Batch{
		Key:    b.key,
		Size:   len(b.ins),
		Weight: b.weight,
		Wait:   max(b.node.since-b.oldest, 0), // The clock is read before the lock is taken.
		Start:  b.ferry.clock.time(b.node.since),
		Lanes:  b.lanes,
	}
}

// end cancels the context.
func (b *batch[K, I, O]) end(returned bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.returned = b.returned || returned
	// A deadline that nobody has seen passing has not passed: the clock is not asked.
	if b.ended == nil && b.standard != nil {
		b.ended = b.standard.Err()
	}
	if b.ended == nil {
		b.ended = context.Canceled
	}
	if b.cancel != nil {
		b.cancel()
	}
}

// passed answers why the context has ended, if it has by itself. b.mu is held.
func (b *batch[K, I, O]) passed() error {
	if b.standard != nil {
		return b.standard.Err()
	}
	if deadline, ok := b.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// Deadline is part of [context.Context].
func (b *batch[K, I, O]) Deadline() (time.Time, bool) {
	if timeout := b.ferry.cfg.BatchTimeout; timeout > 0 {
		return b.ferry.clock.time(b.node.since).Add(timeout), true
	}
	return time.Time{}, false
}

// Done is part of [context.Context].
func (b *batch[K, I, O]) Done() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.standard == nil {
		if deadline, ok := b.Deadline(); ok && !errors.Is(b.ended, context.Canceled) {
			b.standard, b.cancel = context.WithDeadline(context.Background(), deadline)
		} else {
			b.standard, b.cancel = context.WithCancel(context.Background())
		}
		if b.ended != nil {
			b.cancel()
		}
	}
	return b.standard.Done()
}

// Err is part of [context.Context].
func (b *batch[K, I, O]) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended == nil {
		b.ended = b.passed()
	}
	return b.ended
}

// callersKey asks a batch's context for the contexts of its callers.
type callersKey struct{}

// Value is part of [context.Context]. It answers whether this is the inside of a call of the ferry that the key is, and
// otherwise the values of the first caller, without its cancellation.
func (b *batch[K, I, O]) Value(key any) any {
	b.mu.Lock()
	standard, returned := b.standard, b.returned
	b.mu.Unlock()
	if key == any(b.ferry) && !returned {
		return true
	}
	if key == (callersKey{}) {
		return b.callers
	}
	if standard != nil {
		// The standard library looks for its own cancellation here, and spares contexts derived from this one
		// a goroutine if it finds it.
		if v := standard.Value(key); v != nil {
			return v
		}
	}
	return context.WithoutCancel(b.values).Value(key)
}

func (b *batch[K, I, O]) callers() []context.Context {
	b.ferry.mu.Lock()
	defer b.ferry.mu.Unlock()
	ctxs := make([]context.Context, 0, b.waiters.len)
	for w := range b.waiters.all {
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
