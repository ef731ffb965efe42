package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goferry/goferry/schedule"
)

// A policy is a value. This one waits longer and longer, never more than a second, at most five times.
func Example() {
	policy := schedule.Exponential(100 * time.Millisecond).Capped(time.Second).And(schedule.Recurs(5))

	run := policy.Start()
	for {
		delay, ok := run.Next(errors.New("unavailable"))
		if !ok {
			break
		}
		fmt.Println(delay)
	}
	// Output:
	// 100ms
	// 200ms
	// 400ms
	// 800ms
	// 1s
}

func ExampleRetry() {
	attempts := 0
	read := func(context.Context) (string, error) {
		if attempts++; attempts < 3 {
			return "", errors.New("unavailable")
		}
		return "a record", nil
	}

	record, err := schedule.Retry(context.Background(), schedule.Recurs(5), read)
	fmt.Println(record, err, attempts)
	// Output: a record <nil> 3
}

// The error tells both why there was no further run and what failed last.
func ExampleRetry_context() {
	errUnavailable := errors.New("unavailable")
	ctx, cancel := context.WithCancel(context.Background())
	read := func(context.Context) (string, error) {
		cancel()
		return "", errUnavailable
	}

	_, err := schedule.Retry(ctx, schedule.Spaced(time.Hour), read)
	fmt.Println(err)
	fmt.Println(errors.Is(err, errUnavailable), errors.Is(err, context.Canceled))
	// Output:
	// unavailable (not retried: context canceled)
	// true true
}

func ExampleRepeat() {
	polls := 0
	poll := func(context.Context) (int, error) {
		polls++
		fmt.Println("poll", polls)
		return polls, nil
	}

	last, err := schedule.Repeat(context.Background(), schedule.Recurs(2), poll)
	fmt.Println("last:", last, err)
	// Output:
	// poll 1
	// poll 2
	// poll 3
	// last: 3 <nil>
}

// StatusError is a failure with a code.
type StatusError struct{ Code int }

func (e *StatusError) Error() string { return fmt.Sprint("status ", e.Code) }

// Only the failures that another run may mend are retried.
func ExampleWhileFailure() {
	busy := func(e *StatusError) bool { return e.Code == 503 }
	policy := schedule.WhileFailure(schedule.Recurs(5), busy)

	for _, failure := range []error{&StatusError{503}, &StatusError{404}, errors.New("a bug")} {
		_, again := policy.Start().Next(fmt.Errorf("read: %w", failure))
		fmt.Println(failure, again)
	}
	// Output:
	// status 503 true
	// status 404 false
	// a bug false
}

// A few quick attempts, and then patient ones.
func ExampleSchedule_Then() {
	policy := schedule.Recurs(2).Then(schedule.Spaced(time.Minute))

	run := policy.Start()
	for range 4 {
		delay, _ := run.Next(errors.New("unavailable"))
		fmt.Println(delay)
	}
	// Output:
	// 0s
	// 0s
	// 1m0s
	// 1m0s
}

// Capped before the jitter, delays stay spread at the cap; with factors of at most 1, they keep below it too.
func ExampleSchedule_JitteredBetween() {
	policy := schedule.Exponential(time.Second).Capped(10*time.Second).JitteredBetween(0.5, 1)

	run := policy.Start()
	for range 10 {
		delay, _ := run.Next(errors.New("unavailable"))
		if delay > 10*time.Second {
			fmt.Println("too long:", delay)
		}
	}
	fmt.Println("never longer than 10s")
	// Output: never longer than 10s
}

func ExampleSchedule_Tap() {
	policy := schedule.Linear(time.Second).And(schedule.Recurs(2)).Tap(func(err error, delay time.Duration) {
		fmt.Printf("%v, again in %v\n", err, delay)
	})

	run := policy.Start()
	for range 3 {
		run.Next(errors.New("unavailable"))
	}
	// Output:
	// unavailable, again in 1s
	// unavailable, again in 2s
}
