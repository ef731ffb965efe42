package schedule

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Schedule decides, each time something has run, whether it runs again and after which delay.
//
// It is an immutable value: methods return changed copies, and any number of goroutines may use one at once. The zero
// value is [Stop].
type Schedule struct {
	// begin makes the state of one run. The first step follows at once, with the same time as now, so that no step
	// has to treat the first call differently.
	begin func(now time.Duration) stepFunc
}

// stepFunc decides once. Its delay means nothing when ok is false, and it may be called again after that: [Schedule.Or]
// steps both sides for as long as either goes on.
type stepFunc func(tick) (delay time.Duration, ok bool)

// tick is what a step may look at.
type tick struct {
	now    time.Duration  // since the first step of the [Run]
	err    error          // what the run ended with, nil when repeating
	random func() float64 // uniform in [0, 1)
}

func stop(tick) (time.Duration, bool) { return 0, false }

// at begins s.
func (s Schedule) at(now time.Duration) stepFunc {
	if s.begin == nil {
		return stop
	}
	return s.begin(now)
}

// Start begins to follow s, independently of anybody else who does. Time starts with the first [Run.Next].
func (s Schedule) Start() *Run {
	return &Run{schedule: s}
}

// Run follows a [Schedule], and is made by [Schedule.Start]. It must not be used by two goroutines at once.
type Run struct {
	schedule Schedule
	step     stepFunc  // nil before the first Next
	began    time.Time // of the first Next
}

// Next decides what comes after a run that ended with err, nil if it succeeded. If ok, the caller is to run again after
// the delay, which is never negative; otherwise the schedule has ended, and stays so.
//
// The time between two calls counts: call Next when the run has ended, and wait afterwards.
func (r *Run) Next(err error) (delay time.Duration, ok bool) {
	var now time.Duration
	if r.step == nil {
		r.began = time.Now()
		r.step = r.schedule.at(now)
	} else {
		now = time.Since(r.began)
	}
	// The top-level functions of math/rand/v2 need no lock: each thread has its own source.
	delay, ok = r.step(tick{now: now, err: err, random: rand.Float64})
	if !ok {
		r.step = stop
		return 0, false
	}
	return delay, true
}

// require panics unless ok.
func require(ok bool, format string, args ...any) {
	if !ok {
		panic("schedule: " + fmt.Sprintf(format, args...))
	}
}
