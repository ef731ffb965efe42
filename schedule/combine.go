package schedule

import (
	"errors"
	"time"
)

// And goes on while both s and other do, after the longer of their delays.
func (s Schedule) And(other Schedule) Schedule {
	return Schedule{func(now time.Duration) stepFunc {
		left, right := s.at(now), other.at(now)
		return func(t tick) (time.Duration, bool) {
			l, lok := left(t)
			r, rok := right(t)
			return max(l, r), lok && rok
		}
	}}
}

// Or goes on while s or other does, after the shorter of their delays, or the delay of the only one that goes on. Both
// are asked on every step: one that declined an error may go on after the next.
func (s Schedule) Or(other Schedule) Schedule {
	return Schedule{func(now time.Duration) stepFunc {
		left, right := s.at(now), other.at(now)
		return func(t tick) (time.Duration, bool) {
			l, lok := left(t)
			r, rok := right(t)
			switch {
			case !lok:
				return r, rok
			case !rok:
				return l, true
			}
			return min(l, r), true
		}
	}}
}

// Then follows s until it ends, and from that step on next.
func (s Schedule) Then(next Schedule) Schedule {
	return Schedule{func(now time.Duration) stepFunc {
		step, first := s.at(now), true
		return func(t tick) (time.Duration, bool) {
			delay, ok := step(t)
			if !ok && first {
				step, first = next.at(t.now), false
				return step(t)
			}
			return delay, ok
		}
	}}
}

// Repeated begins s anew each time it ends, on that same step. It ends when s ends on the step on which it began.
func (s Schedule) Repeated() Schedule {
	return Schedule{func(now time.Duration) stepFunc {
		step, fresh := s.at(now), true
		return func(t tick) (time.Duration, bool) {
			delay, ok := step(t)
			if !ok && !fresh {
				step = s.at(t.now)
				delay, ok = step(t)
			}
			fresh = false
			return delay, ok
		}
	}}
}

// ResetAfter begins s anew on the first step that comes d or more after the step on which it last began, also if it
// has ended meanwhile. It panics if d is negative.
func (s Schedule) ResetAfter(d time.Duration) Schedule {
	require(d >= 0, "ResetAfter: d must not be negative, got %v", d)
	return Schedule{func(now time.Duration) stepFunc {
		step, began := s.at(now), now
		return func(t tick) (time.Duration, bool) {
			if t.now-began >= d {
				step, began = s.at(t.now), t.now
			}
			return step(t)
		}
	}}
}

// UpTo goes on as s does on the steps less than d after the first. The last delay is as long as s wants it, and may
// end later than d: see [Schedule.Within]. It panics if d is negative.
func (s Schedule) UpTo(d time.Duration) Schedule {
	require(d >= 0, "UpTo: d must not be negative, got %v", d)
	return Schedule{func(began time.Duration) stepFunc {
		step := s.at(began)
		return func(t tick) (time.Duration, bool) {
			delay, ok := step(t)
			return delay, ok && t.now-began < d
		}
	}}
}

// Within is [Schedule.UpTo] with a last delay that ends no later than d after the first step. It bounds when the last
// run begins, not how long that takes. It panics if d is negative.
func (s Schedule) Within(d time.Duration) Schedule {
	require(d >= 0, "Within: d must not be negative, got %v", d)
	return Schedule{func(began time.Duration) stepFunc {
		step := s.UpTo(d).at(began)
		return func(t tick) (time.Duration, bool) {
			delay, ok := step(t)
			return min(delay, d-(t.now-began)), ok
		}
	}}
}

// While goes on as s does after the errors for which holds answers true, and ends at any other. When repeating, the
// error is nil. It panics if holds is nil.
func (s Schedule) While(holds func(error) bool) Schedule {
	require(holds != nil, "While: holds must not be nil")
	return s.revise(func(t tick, delay time.Duration) (time.Duration, bool) {
		return delay, holds(t.err)
	})
}

// Until ends at the first error for which holds answers true, and goes on as s does after any other. It panics if
// holds is nil.
func (s Schedule) Until(holds func(error) bool) Schedule {
	require(holds != nil, "Until: holds must not be nil")
	return s.While(func(err error) bool { return !holds(err) })
}

// WhileFailure goes on as s does after errors that are or wrap an E for which holds answers true, and ends at any
// other. A nil holds takes every E.
func WhileFailure[E error](s Schedule, holds func(E) bool) Schedule {
	return s.While(func(err error) bool {
		failure, ok := errors.AsType[E](err)
		return ok && (holds == nil || holds(failure))
	})
}

// Tap calls f on each step on which s goes on, with the error it was given and the delay it decided. It panics if f is
// nil.
func (s Schedule) Tap(f func(err error, delay time.Duration)) Schedule {
	require(f != nil, "Tap: f must not be nil")
	return s.revise(func(t tick, delay time.Duration) (time.Duration, bool) {
		f(t.err, delay)
		return delay, true
	})
}

// Delayed replaces each delay of s by what f makes of it, or zero if that is negative. It panics if f is nil.
func (s Schedule) Delayed(f func(time.Duration) time.Duration) Schedule {
	require(f != nil, "Delayed: f must not be nil")
	return s.revise(func(_ tick, delay time.Duration) (time.Duration, bool) {
		return max(f(delay), 0), true
	})
}

// AddDelay lengthens each delay of s by d. It panics if d is negative.
func (s Schedule) AddDelay(d time.Duration) Schedule {
	require(d >= 0, "AddDelay: d must not be negative, got %v", d)
	return s.Delayed(func(delay time.Duration) time.Duration { return add(delay, d) })
}

// Capped shortens each delay of s that is longer than limit to limit. Behind [Schedule.Jittered] it caps the jittered
// delays, and those far above limit are then all the same; before it, they stay spread. It panics if limit is negative.
func (s Schedule) Capped(limit time.Duration) Schedule {
	require(limit >= 0, "Capped: limit must not be negative, got %v", limit)
	return s.Delayed(func(delay time.Duration) time.Duration { return min(delay, limit) })
}

// Jittered is JitteredBetween(0.8, 1.2).
func (s Schedule) Jittered() Schedule { return s.JitteredBetween(0.8, 1.2) }

// JitteredBetween multiplies each delay of s by a factor drawn uniformly between low and high. It panics unless both
// are finite and 0 <= low <= high.
func (s Schedule) JitteredBetween(low, high float64) Schedule {
	require(isFactor(low), "JitteredBetween: low must be finite and not negative, got %v", low)
	require(isFactor(high), "JitteredBetween: high must be finite and not negative, got %v", high)
	require(low <= high, "JitteredBetween: low must not be above high, got %v and %v", low, high)
	return s.revise(func(t tick, delay time.Duration) (time.Duration, bool) {
		return scale(delay, low+(high-low)*t.random()), true
	})
}

// revise gives f the last word on the steps on which s goes on.
func (s Schedule) revise(f func(t tick, delay time.Duration) (time.Duration, bool)) Schedule {
	return Schedule{func(now time.Duration) stepFunc {
		step := s.at(now)
		return func(t tick) (time.Duration, bool) {
			delay, ok := step(t)
			if !ok {
				return 0, false
			}
			return f(t, delay)
		}
	}}
}
