package schedule

import (
	"math"
	"slices"
	"time"
)

// Stop never goes on: one run. It is the zero Schedule.
func Stop() Schedule { return Schedule{} }

// Once goes on once, without delay: at most two runs.
func Once() Schedule { return Recurs(1) }

// Recurs goes on n times, without delay: at most n+1 runs. [Schedule.And] limits another schedule with it. It panics if
// n is negative.
func Recurs(n int) Schedule {
	require(n >= 0, "Recurs: n must not be negative, got %d", n)
	return Schedule{func(time.Duration) stepFunc {
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

// Spaced always goes on, d after the end of each run. It panics if d is negative.
func Spaced(d time.Duration) Schedule {
	require(d >= 0, "Spaced: d must not be negative, got %v", d)
	return Schedule{func(time.Duration) stepFunc {
		return func(tick) (time.Duration, bool) { return d, true }
	}}
}

// Fixed always goes on, at multiples of interval after the first step. When a run is not done by the multiple after its
// own, the next one follows at once; multiples missed are not made up for. A run that ends exactly on a multiple is
// followed on the one after it. It panics unless interval is positive.
func Fixed(interval time.Duration) Schedule {
	require(interval > 0, "Fixed: interval must be positive, got %v", interval)
	return Schedule{func(began time.Duration) stepFunc {
		due := began // when the run that ended now was to start
		return func(t tick) (time.Duration, bool) {
			delay := untilNext(interval, t.now-began)
			if t.now > add(due, interval) {
				delay = 0
			}
			due = add(t.now, delay)
			return delay, true
		}
	}}
}

// Windowed always goes on, at the next multiple of interval after the first step, however long the run took. It panics
// unless interval is positive.
func Windowed(interval time.Duration) Schedule {
	require(interval > 0, "Windowed: interval must be positive, got %v", interval)
	return Schedule{func(began time.Duration) stepFunc {
		return func(t tick) (time.Duration, bool) { return untilNext(interval, t.now-began), true }
	}}
}

// untilNext is the time from elapsed to the first multiple of interval after it.
func untilNext(interval, elapsed time.Duration) time.Duration {
	return interval - elapsed%interval
}

// Linear always goes on, after base, 2*base, 3*base and so on. It panics if base is negative.
func Linear(base time.Duration) Schedule {
	require(base >= 0, "Linear: base must not be negative, got %v", base)
	return Schedule{func(time.Duration) stepFunc {
		var delay time.Duration
		return func(tick) (time.Duration, bool) {
			delay = add(delay, base)
			return delay, true
		}
	}}
}

// Exponential always goes on, after base, 2*base, 4*base and so on. It panics if base is negative.
func Exponential(base time.Duration) Schedule {
	require(base >= 0, "Exponential: base must not be negative, got %v", base)
	return ExponentialFactor(base, 2)
}

// ExponentialFactor always goes on, after base, base*factor, base*factor*factor and so on; with a factor below 1 the
// delays shrink. It panics if base is negative, or factor negative or not finite.
func ExponentialFactor(base time.Duration, factor float64) Schedule {
	require(base >= 0, "ExponentialFactor: base must not be negative, got %v", base)
	require(isFactor(factor), "ExponentialFactor: factor must be finite and not negative, got %v", factor)
	return Schedule{func(time.Duration) stepFunc {
		n := 0.0
		return func(tick) (time.Duration, bool) {
			// Multiplying the last delay would round each time, and never leave 1ns with a factor of 1.5.
			delay := scale(base, math.Pow(factor, n))
			n++
			return delay, true
		}
	}}
}

// Fibonacci always goes on, after base, base, 2*base, 3*base, 5*base and so on, each delay being the sum of the two
// before it. It panics if base is negative.
func Fibonacci(base time.Duration) Schedule {
	require(base >= 0, "Fibonacci: base must not be negative, got %v", base)
	return Schedule{func(time.Duration) stepFunc {
		delay, next := time.Duration(0), base
		return func(tick) (time.Duration, bool) {
			delay, next = next, add(delay, next)
			return delay, true
		}
	}}
}

// Durations goes on once for each of delays, in their order. Without any it is [Stop]. It panics if one is negative.
func Durations(delays ...time.Duration) Schedule {
	for i, d := range delays {
		require(d >= 0, "Durations: delays[%d] must not be negative, got %v", i, d)
	}
	delays = slices.Clone(delays)
	return Schedule{func(time.Duration) stepFunc {
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

const longest time.Duration = math.MaxInt64

// add is a+b, at most longest. Neither may be negative.
func add(a, b time.Duration) time.Duration {
	if a > longest-b {
		return longest
	}
	return a + b
}

// scale is d*factor, at most longest. Neither may be negative; factor may be infinite.
func scale(d time.Duration, factor float64) time.Duration {
	if d == 0 {
		return 0 // zero times infinity is NaN
	}
	scaled := float64(d) * factor
	if scaled >= float64(longest) {
		return longest
	}
	return time.Duration(scaled)
}

func isFactor(f float64) bool {
	return f >= 0 && !math.IsInf(f, 1) // false for NaN
}
