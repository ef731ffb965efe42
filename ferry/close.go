package ferry

import (
	"context"
	"maps"
	"slices"
	"time"
)

// flush is somebody who waits until some inputs have landed: answered or taken back.
type flush struct {
	lanes int           // that still hold some of them
	done  chan struct{} // closed when none does
}

// Flush ends every linger and blocks until all inputs that were accepted before it are answered, or taken back by
// their callers. It answers the context's error if ctx ends first, and [ErrReentrant] inside a call of the same ferry,
// for which it would wait.
func (f *Ferry[K, I, O]) Flush(ctx context.Context) error {
	if ctx.Value(f) != nil {
		return ErrReentrant
	}
	f.mu.Lock()
	f.endLingers() // In their order: that of the map is none.
	flush := f.flush(slices.Collect(maps.Values(f.lanes))...)
	f.mu.Unlock()
	return flush.wait(ctx)
}

// FlushKey is [Ferry.Flush] for the inputs of one key. It answers [ErrKey] for one that no input can have.
func (f *Ferry[K, I, O]) FlushKey(ctx context.Context, key K) error {
	if ctx.Value(f) != nil {
		return ErrReentrant
	}
	if f.checkHash && !hashable(key) || key != key {
		return ErrKey
	}
	var lanes []*lane[K, I, O]
	f.mu.Lock()
	if l := f.lanes[key]; l != nil {
		lanes = append(lanes, l)
	}
	flush := f.flush(lanes...)
	f.mu.Unlock()
	return flush.wait(ctx)
}

// flush hangs a flush on the last input of each lane: a lane lands its inputs in their order.
func (f *Ferry[K, I, O]) flush(lanes ...*lane[K, I, O]) *flush {
	fl := &flush{lanes: 1, done: make(chan struct{})} // 1 for this loop.
	for _, l := range lanes {
		if l.queue.len > 0 {
			last := l.queue.tail.value
			last.flush = append(last.flush, fl)
			l.flushes++
			fl.lanes++
			f.place(l)
		} else if l.stage == busy && l.batch.waiters.len > 0 {
			l.batch.flush = append(l.batch.flush, fl)
			fl.lanes++
		}
	}
	landed([]*flush{fl})
	return fl
}

func (fl *flush) wait(ctx context.Context) error {
	select {
	case <-fl.done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-fl.done: // Also if both were.
		return nil
	default:
		return ctx.Err()
	}
}

// landed tells those that wait that their inputs of one lane have landed.
func landed(flushes []*flush) {
	for _, fl := range flushes {
		if fl.lanes--; fl.lanes == 0 {
			close(fl.done)
		}
	}
}

// passOn hands what waits for w, which is being taken back, to the input before it.
func passOn[K comparable, I, O any](w *waiter[K, I, O]) {
	l, flushes := w.lane, w.flush
	w.flush = nil
	if before := w.node.prev; before != nil {
		before.value.flush = append(before.value.flush, flushes...)
		return
	}
	l.flushes -= len(flushes)
	if l.stage == busy && l.batch.waiters.len > 0 {
		l.batch.flush = append(l.batch.flush, flushes...)
	} else {
		landed(flushes)
	}
}

// Close refuses new inputs and those that wait for room with [ErrClosed], ends every linger, and blocks until all
// accepted inputs are answered and the ferry's goroutines have ended.
//
// When ctx ends before that, inputs not yet handed to a call are answered with ErrClosed, not sent, and the contexts
// of the calls that are out are cancelled. What those calls answer within Config.CancelGrace is still
// delivered; then the callers of the rest are told that the outcome is unknown, and Close answers ctx's error. Only
// the goroutines of calls that do not return stay, until they do.
//
// With a context that never ends, Close waits for a call that never returns. It may be called more than once. Inside a
// call of the same ferry, for which it would wait, it does nothing and answers [ErrReentrant].
func (f *Ferry[K, I, O]) Close(ctx context.Context) error {
	if ctx.Value(f) != nil {
		return ErrReentrant
	}
	f.mu.Lock()
	if !f.closing {
		f.closing = true
		f.refuseWaiters()
		f.endLingers()
		f.checkDrained()
	}
	f.mu.Unlock()
	var err error
	select {
	case <-f.drained:
	case <-ctx.Done():
		if f.isDrained() {
			break
		}
		err = ctx.Err()
		if !f.giveUp() {
			return err
		}
	}
	f.workers.alive.Wait()
	return err
}

func (f *Ferry[K, I, O]) isDrained() bool {
	select {
	case <-f.drained:
		return true
	default:
		return false
	}
}

// refuseWaiters answers all that are not accepted.
func (f *Ferry[K, I, O]) refuseWaiters() {
	for _, l := range slices.Collect(maps.Values(f.lanes)) {
		for w := range l.line.all {
			l.line.remove(&w.node)
			f.refuseClosed(w)
		}
	}
	for w := range f.line.all {
		f.line.remove(&w.node)
		l := w.lane
		l.places--
		f.refuseClosed(w)
		f.place(l)
	}
}

func (f *Ferry[K, I, O]) refuseClosed(w *waiter[K, I, O]) {
	w.state = settled
	w.answer(&Error{Key: w.lane.key, Err: ErrClosed})
}

// giveUp ends what Close cannot wait for, and says whether the ferry has drained all the same.
func (f *Ferry[K, I, O]) giveUp() (drained bool) {
	f.mu.Lock()
	for _, l := range slices.Collect(maps.Values(f.lanes)) {
		for w := range l.queue.all {
			passOn(w)
			f.release(w)
			f.refuseClosed(w)
		}
		f.place(l)
	}
	var out []*callContext[K, I, O]
	for b := range f.flying.all {
		out = append(out, b.context)
	}
	f.mu.Unlock()
	for _, c := range out {
		c.end(false)
	}
	var grace <-chan time.Time
	if f.cfg.CancelGrace >= 0 {
		timer := time.NewTimer(f.cfg.CancelGrace)
		defer timer.Stop()
		grace = timer.C
	}
	select {
	case <-f.drained:
		return true
	case <-grace:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gaveUp = true
	for b := range f.flying.all {
		f.abandon(b)
	}
	f.retire()
	return false
}

// checkDrained ends a ferry that is closing and has nothing left.
func (f *Ferry[K, I, O]) checkDrained() {
	if !f.closing || len(f.lanes) > 0 {
		return
	}
	if !f.isDrained() {
		close(f.drained)
	}
	f.retire()
}

// retire lets the parked workers leave and stops the timers.
func (f *Ferry[K, I, O]) retire() {
	f.workers.dismiss(len(f.workers.parked))
	f.workers.stop()
	f.linger.stop()
	f.flying.stop()
}
