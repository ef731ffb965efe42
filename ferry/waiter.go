package ferry

import (
	"context"
	"time"
)

// waiter is one submitted input with its caller.
type waiter[K comparable, I, O any] struct {
	node  node[*waiter[K, I, O]]  // in a line, the queue of its lane or its batch; since is its submission
	lane  *lane[K, I, O]          // until settled
	line  *list[*waiter[K, I, O]] // the line it waits in
	state state
	flush []*flush // those that wait for this input and all before it

	// Written by the caller before anybody else sees the waiter.
	ctx       context.Context
	in        I
	weight    int
	impatient bool // it had to wait, and may only for a time

	// Written before answered is sent to, whose capacity of 1 makes sure that nobody waits for a caller.
	out      O
	err      error
	answered chan struct{}
}

type state int

const (
	waiting state = iota // in a line, not accepted
	queued               // accepted, not yet handed to a call
	flying               // handed to a call
	settled              // its answer is in the channel or about to be
)

func newWaiter[K comparable, I, O any]() *waiter[K, I, O] {
	w := &waiter[K, I, O]{answered: make(chan struct{}, 1)}
	w.node.value = w
	return w
}

// answer hands w to its caller, who may give it to a later input at once.
func (w *waiter[K, I, O]) answer(err error) {
	w.err = err
	w.answered <- struct{}{}
}

// await blocks until w is answered or refused, its caller's context ends, or its patience does.
func (f *Ferry[K, I, O]) await(w *waiter[K, I, O]) (O, error) {
	if w.impatient {
		if err := f.awaitRoom(w); err != nil {
			var none O
			return none, err
		}
	}
	leave := w.ctx.Done()
	if leave == nil {
		<-w.answered
		return f.collect(w)
	}
	select {
	case <-w.answered:
		return f.collect(w)
	case <-leave:
		return f.leave(w)
	}
}

// awaitRoom blocks until w is accepted or answered or its caller's context ends, all for await to see, or its patience
// does, which is its error.
func (f *Ferry[K, I, O]) awaitRoom(w *waiter[K, I, O]) error {
	timer := time.NewTimer(time.Duration(f.cfg.Overflow) - (f.clock.now() - w.node.since))
	defer timer.Stop()
	select {
	case <-w.answered:
		w.answered <- struct{}{}
	case <-w.ctx.Done():
	case <-timer.C:
		return f.refuseWaiting(w)
	}
	return nil
}

// collect takes the answer and gives w to a later input.
func (f *Ferry[K, I, O]) collect(w *waiter[K, I, O]) (O, error) {
	out, err := w.out, w.err
	f.recycle(w)
	return out, err
}

// recycle gives w to a later input. Nobody else may know it any more, so a waiter whose caller left it in flight
// never comes here.
func (f *Ferry[K, I, O]) recycle(w *waiter[K, I, O]) {
	*w = waiter[K, I, O]{answered: w.answered}
	w.node.value = w
	f.idle.Put(w)
}

// leave answers for a caller whose context has ended.
func (f *Ferry[K, I, O]) leave(w *waiter[K, I, O]) (O, error) {
	reason := w.ctx.Err() // Before the lock: a caller's context is user code.
	f.mu.Lock()
	was := w.state
	left := &Error{Sent: was == flying, Err: reason}
	if was != settled {
		left.Key = w.lane.key
	}
	switch was {
	case waiting:
		f.quitLine(w)
	case queued:
		f.withdraw(w)
	}
	f.mu.Unlock()
	switch was {
	case settled:
		<-w.answered
		return f.collect(w)
	case waiting, queued:
		f.recycle(w)
	}
	var none O
	return none, left
}

// refuseWaiting ends the patience of w: it answers nil if w has been accepted or answered meanwhile.
func (f *Ferry[K, I, O]) refuseWaiting(w *waiter[K, I, O]) error {
	f.mu.Lock()
	if w.state != waiting {
		f.mu.Unlock()
		return nil
	}
	key, err := w.lane.key, f.refuse(f.boundOf(w))
	f.quitLine(w)
	f.mu.Unlock()
	f.recycle(w)
	f.cfg.Observer.overloaded(key, err)
	return &Error{Key: key, Err: err}
}
