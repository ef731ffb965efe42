package schedule

import (
	"math"
	"slices"
	"time"
)

const longest time.Duration = math.MaxInt64

// Stop never goes on: one run. It is the zero Schedule.
func Stop() Schedule { return Schedule{} }

// Once goes on once, without delay: at most two runs.
func Once() Schedule { return Recurs(1) }

// Recurs goes on n times, without delay: at most n+1 runs. Use
// [Schedule.And] to limit another schedule. A negative n panics.
func Recurs(n int) Schedule {
	require(n >= 0, "Recurs: n must not be negative, got %d", n)
	return Schedule{func(time.Duration) step {
		left := n
		return func(tick) (time.Duration, bool) {
			if left == 0 {
				return 0, false
			}
			left--
			return 0, true
		}
	}}
}

// Forever always goes on, without delay.
func Forever() Schedule { return Spaced(0) }

// Spaced always goes on, d after the end of each run. A negative d panics.
func Spaced(d time.Duration) Schedule {
	require(d >= 0, "Spaced: d must not be negative, got %v", d)
	return stateless(func(tick) (time.Duration, bool) { return d, true })
}

// Fixed always goes on, at multiples of interval after the end of the first
// run. A run that is late for the next multiple is followed by another at
// once; the multiples it missed are not made up for. A run that ends exactly
// on a multiple waits for the one after it. An interval that is not positive
// panics.
func Fixed(interval time.Duration) Schedule {
	require(interval > 0, "Fixed: interval must be positive, got %v", interval)
	return Schedule{func(start time.Duration) step {
		due := start // when the run that just ended was to begin
		return func(t tick) (time.Duration, bool) {
			delay := untilNext(interval, t.now-start)
			if t.now > add(due, interval) {
				delay = 0
			}
			due = add(t.now, delay)
			return delay, true
		}
	}}
}

// Windowed always goes on, at the next multiple of interval after the end of
// the first run. Unlike with [Fixed], a run that is late waits for a multiple
// too. An interval that is not positive panics.
func Windowed(interval time.Duration) Schedule {
	require(interval > 0, "Windowed: interval must be positive, got %v", interval)
	return Schedule{func(start time.Duration) step {
		return func(t tick) (time.Duration, bool) {
			return untilNext(interval, t.now-start), true
		}
	}}
}

// untilNext tells how long after elapsed the next multiple of interval is.
func untilNext(interval, elapsed time.Duration) time.Duration {
	return interval - elapsed%interval
}

// Linear always goes on, after base, 2*base, 3*base and so on. A negative base
// panics.
func Linear(base time.Duration) Schedule {
	require(base >= 0, "Linear: base must not be negative, got %v", base)
	return Schedule{func(time.Duration) step {
		var delay time.Duration
		return func(tick) (time.Duration, bool) {
			delay = add(delay, base)
			return delay, true
		}
	}}
}

// Exponential always goes on, after base, 2*base, 4*base and so on. A negative
// base panics.
func Exponential(base time.Duration) Schedule {
	require(base >= 0, "Exponential: base must not be negative, got %v", base)
	return ExponentialFactor(base, 2)
}

// ExponentialFactor always goes on, after base, base*factor, base*factor*factor
// and so on. A factor below 1 makes the delays shrink. A negative base panics,
// and so does a factor that is negative or not finite.
func ExponentialFactor(base time.Duration, factor float64) Schedule {
	require(base >= 0, "ExponentialFactor: base must not be negative, got %v", base)
	require(isFactor(factor), "ExponentialFactor: factor must be finite and not negative, got %v", factor)
	return Schedule{func(time.Duration) step {
		n := 0
		return func(tick) (time.Duration, bool) {
			// Not delay*factor: rounding each delay would hold a small one
			// in place, 1ns at a factor of 1.5 for ever.
			delay := scale(base, math.Pow(factor, float64(n)))
			n++
			return delay, true
		}
	}}
}

// Fibonacci always goes on, after one, one, two, three, five times base and so
// on, each delay being the sum of the two before it. A negative base panics.
func Fibonacci(base time.Duration) Schedule {
	require(base >= 0, "Fibonacci: base must not be negative, got %v", base)
	return Schedule{func(time.Duration) step {
		delay, next := time.Duration(0), base
		return func(tick) (time.Duration, bool) {
			delay, next = next, add(delay, next)
			return delay, true
		}
	}}
}

// Durations goes on after each of the delays in turn, and then ends. Without
// any it is [Stop]. A negative delay panics.
func Durations(delays ...time.Duration) Schedule {
	for i, d := range delays {
		require(d >= 0, "Durations: delays[%d] must not be negative, got %v", i, d)
	}
	delays = slices.Clone(delays)
	return Schedule{func(time.Duration) step {
		left := delays
		return func(tick) (time.Duration, bool) {
			if len(left) == 0 {
				return 0, false
			}
			delay := left[0]
			left = left[1:]
			return delay, true
		}
	}}
}

// add is a+b for durations that are not negative, at most the longest.
func add(a, b time.Duration) time.Duration {
	if a > longest-b {
		return longest
	}
	return a + b
}

// scale is d*f for values that are not negative, at most the longest. f may be
// infinite.
func scale(d time.Duration, f float64) time.Duration {
	if d == 0 {
		return 0 // and not NaN, which 0*Inf is
	}
	scaled := float64(d) * f
	if scaled >= float64(longest) {
		return longest
	}
	return time.Duration(scaled)
}

func isFactor(f float64) bool {
	return f >= 0 && !math.IsInf(f, 1)
}
