package ferry

import (
	"context"
	"errors"
	"time"
)

// Observer is told what a ferry does. Its functions may be nil, are called by several goroutines at once and outside
// of every lock. They are on the way of the batch or caller that they are told of, so they should be quick.
// A panic of one is dropped: observing does not change what callers are told.
type Observer struct {
	// BatchStarted is called before each call, with the context of the call. It answers the context that
	// the call gets instead, derived from the first or the same: a place for a trace's span. [Callers] answers
	// the contexts to link.
	BatchStarted func(ctx context.Context, b Batch) context.Context
	// BatchEnded is called after each call that returned, with the context that BatchStarted answered and the
	// call's error. The batch's callers get their answers afterwards.
	BatchEnded func(ctx context.Context, b Batch, err error)
	// Overloaded is called for each input that was refused since a bound had no room.
	Overloaded func(key any, bound Bound)

	_ struct{}
}

// Batch is one call, as an [Observer] sees it.
type Batch struct {
	// Key is the key of the batch.
	Key any
	// Size and Weight are those of its inputs.
	Size, Weight int
	// Wait is how long its first input had been waiting when the call began.
	Wait time.Duration
	// Start is when the call began.
	Start time.Time
	// Lanes is the number of keys then that had something waiting, queued or in flight.
	Lanes int
}

func (o *Observer) watchesBatches() bool { return o.BatchStarted != nil || o.BatchEnded != nil }

func (o *Observer) started(ctx context.Context, b Batch) context.Context {
	if o.BatchStarted == nil {
		return ctx
	}
	derived := ctx
	quietly(func() { derived = o.BatchStarted(ctx, b) })
	if derived == nil {
		return ctx
	}
	return derived
}

func (o *Observer) ended(ctx context.Context, b Batch, err error) {
	if o.BatchEnded != nil {
		quietly(func() { o.BatchEnded(ctx, b, err) })
	}
}

func (o *Observer) overloaded(key any, err error) {
	if bound, ok := errors.AsType[*BoundError](err); ok && o.Overloaded != nil {
		quietly(func() { o.Overloaded(key, bound.Bound) })
	}
}

// quietly drops a panic of hook.
func quietly(hook func()) {
	defer func() { _ = recover() }()
	hook()
}
