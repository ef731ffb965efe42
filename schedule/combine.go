package schedule

import (
	"errors"
	"time"
)

// And goes on while both s and other do, after the longer of their delays.
func (s Schedule) And(other Schedule) Schedule {
	return Schedule{func(start time.Duration) step {
		left, right := s.at(start), other.at(start)
		return func(t tick) (time.Duration, bool) {
			l, lok := left(t)
			r, rok := right(t)
			return max(l, r), lok && rok
		}
	}}
}

// Or goes on while s or other does, after the shorter of their delays, or the
// delay of the one that goes on.
func (s Schedule) Or(other Schedule) Schedule {
	return Schedule{func(start time.Duration) step {
		left, right := s.at(start), other.at(start)
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

// Then follows s to its end and after that next, which begins with the step
// that s declines.
func (s Schedule) Then(next Schedule) Schedule {
	return Schedule{func(start time.Duration) step {
		step, first := s.at(start), true
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

// Repeated begins s anew each time it ends, with the step that it declines. A
// step that a new beginning declines too is the end.
func (s Schedule) Repeated() Schedule {
	return Schedule{func(start time.Duration) step {
		step, fresh := s.at(start), true
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

// ResetAfter begins s anew with the first step that comes d or more after its
// last beginning, even if s has ended by then. A negative d panics.
func (s Schedule) ResetAfter(d time.Duration) Schedule {
	require(d >= 0, "ResetAfter: d must not be negative, got %v", d)
	return Schedule{func(start time.Duration) step {
		step := s.at(start)
		return func(t tick) (time.Duration, bool) {
			if t.now-start >= d {
				start = t.now
				step = s.at(start)
			}
			return step(t)
		}
	}}
}

// UpTo goes on as s does until d has passed since the first step. The test is
// made when deciding, so the last delay may reach beyond d; [Schedule.Within]
// does not let it. A negative d panics.
func (s Schedule) UpTo(d time.Duration) Schedule {
	require(d >= 0, "UpTo: d must not be negative, got %v", d)
	return Schedule{func(start time.Duration) step {
		step := s.at(start)
		return func(t tick) (time.Duration, bool) {
			delay, ok := step(t)
			return delay, ok && t.now-start < d
		}
	}}
}

// Within goes on as s does for d since the first step, and shortens the delay
// that would reach beyond it: the last run begins when the time is up, none
// later. A negative d panics.
func (s Schedule) Within(d time.Duration) Schedule {
	require(d >= 0, "Within: d must not be negative, got %v", d)
	return Schedule{func(start time.Duration) step {
		step := s.UpTo(d).at(start)
		return func(t tick) (time.Duration, bool) {
			delay, ok := step(t)
			return min(delay, d-(t.now-start)), ok
		}
	}}
}

// revise lets f have the last word on every step of s that goes on.
func (s Schedule) revise(f func(t tick, delay time.Duration) (time.Duration, bool)) Schedule {
	return Schedule{func(start time.Duration) step {
		step := s.at(start)
		return func(t tick) (time.Duration, bool) {
			delay, ok := step(t)
			if !ok {
				return 0, false
			}
			return f(t, delay)
		}
	}}
}

// While goes on as s does after errors for which holds answers true, and ends
// at any other. A nil holds panics.
func (s Schedule) While(holds func(error) bool) Schedule {
	require(holds != nil, "While: holds must not be nil")
	return s.revise(func(t tick, delay time.Duration) (time.Duration, bool) {
		return delay, holds(t.err)
	})
}

// Until goes on as s does and ends at an error for which holds answers true. A
// nil holds panics.
func (s Schedule) Until(holds func(error) bool) Schedule {
	require(holds != nil, "Until: holds must not be nil")
	return s.While(func(err error) bool { return !holds(err) })
}

// WhileFailure goes on as s does after errors that are or wrap an E for which
// holds answers true, and ends at any other. A nil holds takes every E.
func WhileFailure[E error](s Schedule, holds func(E) bool) Schedule {
	return s.While(func(err error) bool {
		failure, ok := errors.AsType[E](err)
		return ok && (holds == nil || holds(failure))
	})
}

// Tap calls f on each step on which s goes on, with the error that was given
// and the delay that s chose. A nil f panics.
func (s Schedule) Tap(f func(err error, delay time.Duration)) Schedule {
	require(f != nil, "Tap: f must not be nil")
	return s.revise(func(t tick, delay time.Duration) (time.Duration, bool) {
		f(t.err, delay)
		return delay, true
	})
}

// Delayed goes on as s does, with each delay replaced by f's answer to it. A
// negative answer counts as zero. A nil f panics.
func (s Schedule) Delayed(f func(time.Duration) time.Duration) Schedule {
	require(f != nil, "Delayed: f must not be nil")
	return s.revise(func(_ tick, delay time.Duration) (time.Duration, bool) {
		return max(f(delay), 0), true
	})
}

// AddDelay adds d to each delay. A negative d panics.
func (s Schedule) AddDelay(d time.Duration) Schedule {
	require(d >= 0, "AddDelay: d must not be negative, got %v", d)
	return s.Delayed(func(delay time.Duration) time.Duration { return add(delay, d) })
}

// Capped shortens delays that are longer than limit to it. A negative limit
// panics.
func (s Schedule) Capped(limit time.Duration) Schedule {
	require(limit >= 0, "Capped: limit must not be negative, got %v", limit)
	return s.Delayed(func(delay time.Duration) time.Duration { return min(delay, limit) })
}

// Jittered is JitteredBetween(0.8, 1.2).
func (s Schedule) Jittered() Schedule { return s.JitteredBetween(0.8, 1.2) }

// JitteredBetween multiplies each delay by a random factor, drawn uniformly
// between lowest and highest for each step of each run. It panics unless both
// are finite and 0 <= lowest <= highest.
func (s Schedule) JitteredBetween(lowest, highest float64) Schedule {
	require(isFactor(lowest), "JitteredBetween: lowest must be finite and not negative, got %v", lowest)
	require(isFactor(highest), "JitteredBetween: highest must be finite and not negative, got %v", highest)
	require(lowest <= highest, "JitteredBetween: lowest must not be above highest, got %v and %v", lowest, highest)
	return s.revise(func(t tick, delay time.Duration) (time.Duration, bool) {
		return scale(delay, lowest+(highest-lowest)*t.random()), true
	})
}
