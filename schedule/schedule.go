package schedule

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Schedule decides, after each run of something, whether it runs again and
// after which delay.
//
// It is an immutable value: methods return changed copies, and any number of
// goroutines may share one. The zero value is [Stop].
type Schedule struct {
	// begin makes the state of one run. It is called right before the first
	// step and with the same time, so a step needs no "first time" branch.
	begin func(start time.Duration) step
}

// step decides once. Its delay means nothing when ok is false. It may be asked
// again after false: [Schedule.Or] steps both sides for as long as either
// goes on.
type step func(tick) (delay time.Duration, ok bool)

// tick is what a step may look at.
type tick struct {
	now    time.Duration // since the first step of the [Run]
	err    error         // what is being retried, nil when repeating
	random func() float64
}

func stop(tick) (time.Duration, bool) { return 0, false }

// at begins s at the given time.
func (s Schedule) at(start time.Duration) step {
	if s.begin == nil {
		return stop
	}
	return s.begin(start)
}

// stateless makes a schedule of one step that remembers nothing.
func stateless(next step) Schedule {
	return Schedule{func(time.Duration) step { return next }}
}

// Start begins a run of s. Each call begins a new one, which shares nothing
// with any other. Its time starts with the first [Run.Next].
func (s Schedule) Start() *Run {
	return &Run{schedule: s, random: rand.Float64}
}

// Run is a [Schedule] being followed, made by [Schedule.Start]. One goroutine
// at a time may use it.
type Run struct {
	schedule Schedule
	step     step      // nil before the first Next
	began    time.Time // of the first Next
	random   func() float64
}

// Next decides what follows a run that ended with err, or succeeded if err is
// nil: false is the end, and true means run again after the delay, which is
// never negative. Time that passes between two calls counts, so call it when
// the run has ended and then wait. After false it answers false for ever.
func (r *Run) Next(err error) (delay time.Duration, ok bool) {
	if r.step == nil {
		r.began = time.Now()
		r.step = r.schedule.at(0)
	}
	delay, ok = r.step(tick{now: time.Since(r.began), err: err, random: r.random})
	if !ok {
		r.step = stop
		return 0, false
	}
	return delay, true
}

// require panics unless ok: a bad argument is a mistake in the program, best
// found where it was written.
func require(ok bool, format string, args ...any) {
	if !ok {
		panic("schedule: " + fmt.Sprintf(format, args...))
	}
}
