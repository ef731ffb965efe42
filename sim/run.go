package sim

import (
	"fmt"
	"slices"
)

// Run makes one history of the scenario, with everything that may vary in it chosen by c, and answers its trace.
func Run(s Scenario, c Chooser) *Trace {
	w := newWorld(s)
	defer w.close()
	return w.record(c)
}

// record is a run with a trace.
func (w *world) record(c Chooser) *Trace {
	w.trace = &Trace{Scenario: w.s}
	defer func() { w.trace = nil }()
	w.run(c)
	w.finishStep()
	w.trace.Violation, w.trace.Schedule = w.violation, slices.Clone(w.schedule)
	return w.trace
}

// again makes the last run again, for its trace.
func (w *world) again() *Trace {
	before := w.violation
	t := w.record(Replay(slices.Clone(w.schedule)))
	if before != nil && before.Law == Ends && t.Violation == nil {
		// It showed when the processes of a run that was cut short were unwound. This one went on.
		t.Violation = before
		return t
	}
	if (before == nil) != (t.Violation == nil) || before != nil && *before != *t.Violation {
		nondeterministic("the run ended with %v, and on replay with %v", before, t.Violation)
	}
	return t
}

// Checker makes histories of one scenario and looks at nothing but the laws. It is several times faster than [Run],
// and not safe for concurrent use.
type Checker struct{ w *world }

// NewChecker makes a Checker.
func NewChecker(s Scenario) *Checker { return &Checker{newWorld(s)} }

// Check makes one history and answers the law that it broke, nil if none.
func (c *Checker) Check(chooser Chooser) *Violation {
	c.w.run(chooser)
	return c.w.violation
}

// Trace makes the last history again and answers its trace.
func (c *Checker) Trace() *Trace { return c.w.again() }

// Close ends the processes, of which each is a parked goroutine between two histories.
func (c *Checker) Close() { c.w.close() }

// Coverage answers what the histories so far have seen.
func (c *Checker) Coverage() Coverage { return c.w.coverage }

// Replay answers a Chooser that follows a schedule, the Schedule of a [Trace], and then always takes the first
// option. It panics if the scenario does not offer what the schedule chose: the scenario, the library or the order of
// options has changed.
func Replay(schedule []int) Chooser { return &replay{schedule: schedule} }

type replay struct{ schedule []int }

func (r *replay) Choose(options []Option) int {
	if len(r.schedule) == 0 {
		return 0
	}
	choice := r.schedule[0]
	if r.schedule = r.schedule[1:]; choice >= len(options) {
		nondeterministic("the schedule chose option %d of %d", choice, len(options))
	}
	return choice
}

// Script answers a Chooser that takes the options with the given descriptions, see [Option.String], one after the
// other, and then always the first. While the next one is not on offer the first option is taken, so a script names
// only what matters. See [Scripted.Left] for a script that went wrong.
func Script(steps ...string) *Scripted { return &Scripted{left: steps} }

// Scripted is a Chooser made by [Script].
type Scripted struct{ left []string }

// Choose takes the next step of the script if it is on offer.
func (s *Scripted) Choose(options []Option) int {
	if len(s.left) == 0 {
		return 0
	}
	at := slices.IndexFunc(options, func(o Option) bool { return o.String() == s.left[0] })
	if at < 0 {
		return 0
	}
	s.left = s.left[1:]
	return at
}

// Left answers the steps that were never on offer.
func (s *Scripted) Left() []string { return s.left }

// Bytes answers a Chooser that reads its choices from data, one byte each, and then always takes the first option. It
// is for fuzzing.
func Bytes(data []byte) Chooser {
	return ChooserFunc(func(n int) int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b) % n
	})
}

// nondeterministic panics for the harness: it is never a finding about the laws.
func nondeterministic(format string, args ...any) {
	panic("sim: nondeterministic: " + fmt.Sprintf(format, args...))
}
