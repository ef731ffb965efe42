package schedule_test

import (
	"errors"
	"fmt"
	"go/build"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/schedule"
)

const longest time.Duration = math.MaxInt64

var errFailed = errors.New("failed")

// delays follows s for at most n steps, waits for each delay, and adds -1 when s ends.
func delays(t *testing.T, s schedule.Schedule, n int) (got []time.Duration) {
	synctest.Test(t, func(*testing.T) {
		run := s.Start()
		for range n {
			delay, ok := run.Next(errFailed)
			if !ok {
				got = append(got, end)
				return
			}
			got = append(got, delay)
			time.Sleep(delay)
		}
	})
	return got
}

const end time.Duration = -1

func TestDelays(t *testing.T) {
	t.Parallel()
	var (
		never  = func(error) bool { return false }
		always = func(error) bool { return true }
		double = func(d time.Duration) time.Duration { return 2 * d }
		exp    = schedule.Exponential(10 * ms)
	)
	tests := []struct {
		name string
		s    schedule.Schedule
		want []time.Duration
	}{
		{"the zero value stops", schedule.Schedule{}, []time.Duration{end}},
		{"no durations", schedule.Durations(), []time.Duration{end}},
		{"a zero value on each side", schedule.Schedule{}.Or(schedule.Schedule{}).Then(schedule.Schedule{}), []time.Duration{end}},
		{"a factor that rounding would stop", schedule.ExponentialFactor(1, 1.5), []time.Duration{1, 1, 2, 3, 5, 7}},
		{"and, ended on the left", schedule.Stop().And(exp), []time.Duration{end}},
		{"or, with other lengths", schedule.Durations(5*ms, 5*ms).Or(schedule.Durations(9*ms, 1*ms, 9*ms)), []time.Duration{5 * ms, 1 * ms, 9 * ms, end}},
		{"then, into a stop", schedule.Once().Then(schedule.Stop()), []time.Duration{0, end}},
		{"then, a grid from where it begins", schedule.Durations(70 * ms).Then(schedule.Fixed(100 * ms)), []time.Duration{70 * ms, 100 * ms, 100 * ms}},
		{"repeated, done on its first step", schedule.Stop().Repeated(), []time.Duration{end}},
		{"repeated, many times over", repeated(schedule.Stop(), 100), []time.Duration{end}},
		{"repeated, an error that is refused", schedule.Once().While(never).Repeated(), []time.Duration{end}},
		{"repeated, with a budget for each time", schedule.Spaced(40 * ms).Within(60 * ms).Repeated(), []time.Duration{40 * ms, 20 * ms, 40 * ms, 20 * ms}},
		{"reset after it has ended", schedule.Durations(60*ms, 0).ResetAfter(50 * ms), []time.Duration{60 * ms, 60 * ms, 60 * ms}},
		{"reset after nothing, on each step", schedule.Once().ResetAfter(0), []time.Duration{0, 0, 0, 0}},
		{"up to, beyond it", schedule.Spaced(40 * ms).UpTo(81 * ms), []time.Duration{40 * ms, 40 * ms, 40 * ms, end}},
		{"up to, exactly", schedule.Spaced(40 * ms).UpTo(80 * ms), []time.Duration{40 * ms, 40 * ms, end}},
		{"within, trimmed", schedule.Spaced(40 * ms).Within(100 * ms), []time.Duration{40 * ms, 40 * ms, 20 * ms, end}},
		{"within, exactly", schedule.Spaced(40 * ms).Within(80 * ms), []time.Duration{40 * ms, 40 * ms, end}},
		{"within nothing", schedule.Forever().Within(0), []time.Duration{end}},
		{"within, ended before", schedule.Once().Within(time.Hour), []time.Duration{0, end}},
		{"while", exp.While(always), []time.Duration{10 * ms, 20 * ms}},
		{"while never", exp.While(never), []time.Duration{end}},
		{"until", exp.Until(always), []time.Duration{end}},
		{"until never", exp.Until(never), []time.Duration{10 * ms, 20 * ms}},
		{"capped", exp.Capped(25 * ms), []time.Duration{10 * ms, 20 * ms, 25 * ms, 25 * ms}},
		{"capped, then added to", exp.Capped(15 * ms).AddDelay(ms), []time.Duration{11 * ms, 16 * ms, 16 * ms}},
		{"delayed", exp.Delayed(double), []time.Duration{20 * ms, 40 * ms, 80 * ms}},
		{"added to the longest", schedule.Spaced(longest).AddDelay(1), []time.Duration{longest}},
		{"jittered beyond the longest", schedule.Spaced(longest).JitteredBetween(2, 2), []time.Duration{longest}},
		{"jittered by nothing", exp.JitteredBetween(1, 1), []time.Duration{10 * ms, 20 * ms, 40 * ms}},
		{"jittered to nothing", exp.JitteredBetween(0, 0), []time.Duration{0, 0, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := delays(t, tt.s, len(tt.want)); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func repeated(s schedule.Schedule, times int) schedule.Schedule {
	for range times {
		s = s.Repeated()
	}
	return s
}

// A grid of the wall clock would show the time between making the state and the first step.
func TestFirstStepIsAtZero(t *testing.T) {
	t.Parallel()
	if got, _ := schedule.Fixed(time.Hour).Start().Next(nil); got != time.Hour {
		t.Errorf("got %v, want %v", got, time.Hour)
	}
}

// A run that ends before its multiple waits for the next one of the grid, also at the end of time.
func TestFixedAheadOfTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := schedule.Fixed(longest).Start()
		for range 2 {
			if got, _ := run.Next(nil); got != longest {
				t.Errorf("got %v, want %v", got, longest)
			}
		}
	})
}

func TestCappedHoldsAfterJitter(t *testing.T) {
	t.Parallel()
	const limit = 100 * ms
	run := schedule.Spaced(limit).Jittered().Capped(limit).Start()
	shorter := 0
	for range 1000 {
		delay, _ := run.Next(nil)
		if delay > limit {
			t.Fatalf("got %v, want at most %v", delay, limit)
		}
		if delay < limit {
			shorter++
		}
	}
	if shorter == 0 {
		t.Error("got no shorter delay, want some: nothing was jittered")
	}
}

func TestRunStaysEnded(t *testing.T) {
	t.Parallel()
	run := schedule.Forever().While(func(err error) bool { return err == errFailed }).Start()
	for i, tt := range []struct {
		err  error
		want bool
	}{{errFailed, true}, {nil, false}, {errFailed, false}} {
		if _, ok := run.Next(tt.err); ok != tt.want {
			t.Errorf("step %d: got %v, want %v", i, ok, tt.want)
		}
	}
}

// One side of an Or that declined an error is asked again, as ZIO does.
func TestOrAsksBothAlways(t *testing.T) {
	t.Parallel()
	fast := schedule.Spaced(ms).While(func(err error) bool { return err == errFailed })
	run := fast.Or(schedule.Spaced(time.Second)).Start()
	for i, tt := range []struct {
		err  error
		want time.Duration
	}{{errFailed, ms}, {nil, time.Second}, {errFailed, ms}} {
		if got, ok := run.Next(tt.err); got != tt.want || !ok {
			t.Errorf("step %d: got %v, %v, want %v", i, got, ok, tt.want)
		}
	}
}

func TestTap(t *testing.T) {
	t.Parallel()
	var got []string
	s := schedule.Linear(ms).And(schedule.Recurs(2)).Tap(func(err error, delay time.Duration) {
		got = append(got, fmt.Sprint(err, " ", delay))
	})
	run := s.Start()
	for i := range 3 {
		run.Next(input(i))
	}
	if want := []string{"input 0 1ms", "input 1 2ms"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDurationsKeepsNothingOfItsArgument(t *testing.T) {
	t.Parallel()
	ds := []time.Duration{ms}
	s := schedule.Durations(ds...)
	ds[0] = time.Hour
	if got, _ := s.Start().Next(nil); got != ms {
		t.Errorf("got %v, want %v", got, ms)
	}
}

func TestWhileFailure(t *testing.T) {
	t.Parallel()
	var (
		small   = func(i input) bool { return i < 2 }
		spaced  = schedule.Spaced(ms)
		anyOf   = schedule.WhileFailure[input](spaced, nil)
		smallOf = schedule.WhileFailure(spaced, small)
	)
	tests := []struct {
		name string
		s    schedule.Schedule
		err  error
		want bool
	}{
		{"an input", anyOf, input(7), true},
		{"a wrapped input", anyOf, fmt.Errorf("read: %w", input(7)), true},
		{"one of several", anyOf, errors.Join(errFailed, input(7)), true},
		{"another error", anyOf, errFailed, false},
		{"success", anyOf, nil, false},
		{"one that holds", smallOf, fmt.Errorf("read: %w", input(1)), true},
		{"one that does not hold", smallOf, input(2), false},
		{"another error, never asked", smallOf, errFailed, false},
		{"any error", schedule.WhileFailure[error](spaced, nil), errFailed, true},
		{"no error", schedule.WhileFailure[error](spaced, nil), nil, false},
		{"an ended schedule", schedule.WhileFailure[input](schedule.Stop(), nil), input(1), false},
	}
	for _, tt := range tests {
		if _, got := tt.s.Start().Next(tt.err); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestBadArgumentsPanic(t *testing.T) {
	t.Parallel()
	var (
		s   schedule.Schedule
		nan = math.NaN()
		inf = math.Inf(1)
	)
	tests := []struct {
		want string // what the message names
		make func()
	}{
		{"Recurs: n", func() { schedule.Recurs(-1) }},
		{"Spaced: d", func() { schedule.Spaced(-1) }},
		{"Fixed: interval", func() { schedule.Fixed(0) }},
		{"Fixed: interval", func() { schedule.Fixed(-1) }},
		{"Windowed: interval", func() { schedule.Windowed(0) }},
		{"Windowed: interval", func() { schedule.Windowed(-1) }},
		{"Linear: base", func() { schedule.Linear(-1) }},
		{"Exponential: base", func() { schedule.Exponential(-1) }},
		{"ExponentialFactor: base", func() { schedule.ExponentialFactor(-1, 2) }},
		{"ExponentialFactor: factor", func() { schedule.ExponentialFactor(1, -0.1) }},
		{"ExponentialFactor: factor", func() { schedule.ExponentialFactor(1, nan) }},
		{"ExponentialFactor: factor", func() { schedule.ExponentialFactor(1, inf) }},
		{"Fibonacci: base", func() { schedule.Fibonacci(-1) }},
		{"Durations: delays[1]", func() { schedule.Durations(1, -1) }},
		{"ResetAfter: d", func() { s.ResetAfter(-1) }},
		{"UpTo: d", func() { s.UpTo(-1) }},
		{"Within: d", func() { s.Within(-1) }},
		{"While: holds", func() { s.While(nil) }},
		{"Until: holds", func() { s.Until(nil) }},
		{"Tap: f", func() { s.Tap(nil) }},
		{"Delayed: f", func() { s.Delayed(nil) }},
		{"AddDelay: d", func() { s.AddDelay(-1) }},
		{"Capped: limit", func() { s.Capped(-1) }},
		{"JitteredBetween: low", func() { s.JitteredBetween(-1, 1) }},
		{"JitteredBetween: low", func() { s.JitteredBetween(nan, 1) }},
		{"JitteredBetween: low", func() { s.JitteredBetween(inf, inf) }},
		{"JitteredBetween: high", func() { s.JitteredBetween(1, -1) }},
		{"JitteredBetween: high", func() { s.JitteredBetween(1, nan) }},
		{"JitteredBetween: high", func() { s.JitteredBetween(1, inf) }},
		{"JitteredBetween: low must not be above", func() { s.JitteredBetween(1.5, 0.5) }},
	}
	for i, tt := range tests {
		if got, want := panicked(tt.make), "schedule: "+tt.want+" "; !strings.HasPrefix(got, want) {
			t.Errorf("%d: got panic %q, want one that begins %q", i, got, want)
		}
	}
}

func panicked(f func()) (message string) {
	defer func() {
		if p := recover(); p != nil {
			message = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

func TestImportsStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
			t.Errorf("got import of %s, want the standard library only", path)
		}
	}
}
