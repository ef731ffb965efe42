package ferry

import (
	"context"
	"runtime/debug"
	"time"
)

// batch is one call: the inputs it carries and its answer. A later call uses it again: what a call may keep are its inputs
// and its context.
type batch[K comparable, I, O any] struct {
	ferry   *Ferry[K, I, O]
	context *callContext[K, I, O]
	node    node[*batch[K, I, O]] // in flying, until answered; since is its start
	lane    *lane[K, I, O]        // until the batch is finished
	key     K
	ins     []I
	waiters list[*waiter[K, I, O]] // guarded by ferry.mu; empty once they are settled
	oldest  time.Duration          // the submission of the first input
	weight  int
	flush   []*flush // guarded by ferry.mu; those that wait for the batch
	lanes   int      // of the ferry, when it was filled
	told    Batch    // what observers are told; made when there is one
	outs    []O      // written by the call's goroutine
	err     error    // likewise
}

// newBatch answers an empty batch with a context of its own.
func (f *Ferry[K, I, O]) newBatch() *batch[K, I, O] {
	b := f.batches.Get().(*batch[K, I, O])
	b.ferry, b.node.value = f, b
	b.context = &callContext[K, I, O]{ferry: f}
	return b
}

// reuse gives b, whose callers have been answered, to a later call.
func (f *Ferry[K, I, O]) reuse(b *batch[K, I, O]) {
	*b = batch[K, I, O]{}
	f.batches.Put(b)
}

// run makes the call. A panic is its error, and so is a Goexit, which ends this goroutine after that.
func (b *batch[K, I, O]) run() {
	b.err = ErrGoexit // Unless it returns or panics.
	var ctx context.Context = b.context
	defer func() {
		if v := recover(); v != nil {
			b.err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		b.context.end(true)
		b.ferry.cfg.Observer.ended(ctx, b.told, b.err)
	}()
	if b.ferry.cfg.Observer.watchesBatches() {
		b.told = b.info()
		ctx = b.ferry.cfg.Observer.started(ctx, b.told)
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
