package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Retry runs op until it succeeds, the schedule ends, or ctx does, and returns
// what the last run returned.
//
// The schedule is asked after each failure. A nil error is success even if ctx
// has ended by then. Otherwise an ended ctx means no further run, and the error
// is or wraps both the error of the last run and that of ctx. If ctx has ended
// before the first run, op does not run, and the error is that of ctx.
//
// Retry does not recover panics of op. A first run that succeeds costs no
// allocation.
func Retry[T any](ctx context.Context, s Schedule, op func(context.Context) (T, error)) (T, error) {
	if err := ended(ctx); err != nil {
		var zero T
		return zero, err
	}
	var run *Run // made after the first failure: success is the common case
	for {
		value, err := op(ctx)
		if err == nil {
			return value, nil
		}
		if ctx.Err() != nil {
			return value, cutShort(ctx, err)
		}
		if run == nil {
			run = s.Start()
		}
		delay, ok := run.Next(err)
		if !ok {
			return value, err
		}
		if Sleep(ctx, delay) != nil {
			return value, cutShort(ctx, err)
		}
	}
}

// Repeat runs op until it fails, the schedule ends, or ctx does, and returns
// what the last run returned.
//
// The schedule is asked after each success, with a nil error. If it ends, the
// error is nil; if ctx ends before the next run, the error is that of ctx,
// beside the last value. If ctx has ended before the first run, op does not
// run. Repeat does not recover panics of op.
func Repeat[T any](ctx context.Context, s Schedule, op func(context.Context) (T, error)) (T, error) {
	if err := ended(ctx); err != nil {
		var zero T
		return zero, err
	}
	run := s.Start()
	for {
		value, err := op(ctx)
		if err != nil {
			return value, err
		}
		delay, ok := run.Next(nil)
		if !ok {
			return value, nil
		}
		if err := Sleep(ctx, delay); err != nil {
			return value, err
		}
	}
}

// Sleep waits for d, or until ctx ends, and then returns an error that is or
// wraps ctx.Err() and its cause. A d of zero or less starts no timer, but an
// ended ctx is still an error.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ended(ctx); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ended(ctx) // of a timer and a context ready at once, the context wins
}

// ended returns nil while ctx goes on, and then an error that is or wraps both
// ctx.Err() and the cause.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil || cause == nil:
		return err
	case errors.Is(cause, err):
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// cutShort adds the error of ctx, which has ended, to the error of the last
// run, unless that run already reported it.
func cutShort(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (no more retries: %w)", err, ended(ctx))
}
