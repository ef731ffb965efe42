package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Retry runs op until it succeeds, s ends, or ctx ends, and returns what the last run returned.
//
// It asks s after each failure. A nil error is success, even if ctx has ended. Once ctx has ended, a failed op is not
// run again, and the error is or wraps both the last run's and that of ctx. If all that the last run had to say is
// that ctx had ended, the error's text also tells the failure of the run before. If ctx ended before the first run, op
// is not run, and the error is that of ctx.
//
// If the first run succeeds, Retry allocates nothing. It does not recover panics.
func Retry[T any](ctx context.Context, s Schedule, op func(context.Context) (T, error)) (T, error) {
	return RetryFailures[error](ctx, s, op)
}

// RetryFailures is [Retry] for the failures that are or wrap an E: after any other error there is no further run, and the
// schedule is not asked. It does what Retry does with [WhileFailure], but builds no schedule for each call.
func RetryFailures[E error, T any](ctx context.Context, s Schedule, op func(context.Context) (T, error)) (T, error) {
	if err := ended(ctx); err != nil {
		var zero T
		return zero, err
	}
	var (
		run  *Run  // nil before the first failure
		last error // of the run before
	)
	for {
		value, err := op(ctx)
		if err == nil {
			return value, nil
		}
		if ctx.Err() != nil {
			return value, cutShort(ctx, err, last)
		}
		if _, typed := errors.AsType[E](err); !typed {
			return value, err
		}
		if run == nil {
			run = s.Start()
		}
		delay, ok := run.Next(err)
		if !ok {
			return value, err
		}
		observed(ctx, err, delay)
		if Sleep(ctx, delay) != nil {
			return value, cutShort(ctx, err, last)
		}
		last = err
	}
}

// Repeat runs op until it fails, s ends, or ctx ends, and returns what the last run returned.
//
// It asks s after each success, with a nil error. When s ends, the error is nil. When ctx ends and s does not, the
// error is that of ctx, beside the value of the last run. If ctx ended before the first run, op is not run. Repeat does
// not recover panics.
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

// Sleep returns nil after d, or, as soon as ctx ends, an error that is or wraps ctx.Err() and its cause. It does not
// wait if d is zero or negative, but still reports an ended ctx.
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
	return ended(ctx) // also when both are ready
}

// ended is nil while ctx has not ended, and then is or wraps both ctx.Err() and its cause.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// cutShort keeps the last real error beside the one of ctx, which has ended. An err that is only the end of ctx says
// nothing new: then the failure of the run before is told, but not wrapped, for it might not be true of the last run.
func cutShort(ctx context.Context, err, before error) error {
	switch {
	case !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%w (not retried: %w)", err, ended(ctx))
	case before != nil:
		return fmt.Errorf("%w (the failure before: %v)", err, before)
	}
	return err
}

// onRetryKey is the key of a context's observer.
type onRetryKey struct{}

// OnRetry derives a context in which f is told of every retry: after the run that failed with err, and before the delay.
// [Schedule.Tap] is for one schedule; this is for one call, through whatever retries in it, to count or trace. f is
// called by the goroutine that retries. An observer that ctx has already is told as well, after f.
func OnRetry(ctx context.Context, f func(err error, delay time.Duration)) context.Context {
	return context.WithValue(ctx, onRetryKey{}, func(err error, delay time.Duration) {
		f(err, delay)
		observed(ctx, err, delay)
	})
}

func observed(ctx context.Context, err error, delay time.Duration) {
	if f, ok := ctx.Value(onRetryKey{}).(func(error, time.Duration)); ok {
		f(err, delay)
	}
}
