package schedule

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// schedules draws trees of combinators, with durations from nothing to the longest.
func schedules(depth int) *rapid.Generator[Schedule] {
	return rapid.Custom(func(t *rapid.T) Schedule {
		if depth == 0 || rapid.IntRange(0, 3).Draw(t, "shape") == 0 {
			return leaves.Draw(t, "leaf")
		}
		s := schedules(depth-1).Draw(t, "s")
		return combined(t, s, schedules(depth-1))
	})
}

var (
	durations = rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 100), func(n int) time.Duration { return time.Duration(n) * time.Millisecond }),
		rapid.Just(longest),
		rapid.Map(rapid.Int64Min(0), func(n int64) time.Duration { return time.Duration(n) }),
	)
	intervals = rapid.Map(durations, func(d time.Duration) time.Duration { return max(d, 1) })
	factors   = rapid.OneOf(rapid.SampledFrom([]float64{2, 1, 0, 0.5, 1e-300, 1e300}), rapid.Float64Range(0, 3))
)

var leaves = rapid.Custom(func(t *rapid.T) Schedule {
	switch rapid.IntRange(0, 9).Draw(t, "leaf") {
	case 0:
		return Stop()
	case 1:
		return Recurs(rapid.IntRange(0, 5).Draw(t, "n"))
	case 2:
		return Forever()
	case 3:
		return Spaced(durations.Draw(t, "d"))
	case 4:
		return Fixed(intervals.Draw(t, "interval"))
	case 5:
		return Windowed(intervals.Draw(t, "interval"))
	case 6:
		return Linear(durations.Draw(t, "base"))
	case 7:
		return Fibonacci(durations.Draw(t, "base"))
	case 8:
		return Durations(rapid.SliceOfN(durations, 0, 4).Draw(t, "delays")...)
	default:
		return ExponentialFactor(durations.Draw(t, "base"), factors.Draw(t, "factor"))
	}
})

func combined(t *rapid.T, s Schedule, other *rapid.Generator[Schedule]) Schedule {
	switch rapid.IntRange(0, 11).Draw(t, "combinator") {
	case 0:
		return s.And(other.Draw(t, "other"))
	case 1:
		return s.Or(other.Draw(t, "other"))
	case 2:
		return s.Then(other.Draw(t, "next"))
	case 3:
		return s.Repeated()
	case 4:
		return s.ResetAfter(durations.Draw(t, "d"))
	case 5:
		return s.UpTo(durations.Draw(t, "d"))
	case 6:
		return s.Within(durations.Draw(t, "d"))
	case 7:
		return s.While(func(err error) bool { return err != errOther })
	case 8:
		change := durations.Draw(t, "change")
		return s.Delayed(func(d time.Duration) time.Duration { return d - change })
	case 9:
		return s.AddDelay(durations.Draw(t, "d"))
	case 10:
		return s.Capped(durations.Draw(t, "limit"))
	default:
		low, high := factors.Draw(t, "low"), factors.Draw(t, "high")
		return s.JitteredBetween(min(low, high), max(low, high))
	}
}

var errUsual, errOther = errors.New("usual"), errors.New("other")

// L1: delays saturate and are never negative, for 100,000 steps of anything. The clock runs to its end as well.
func TestL1DelaysStayInRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkRange(t, schedules(3).Draw(t, "s"), durations.Draw(t, "action"))
	})
}

func TestL1EveryConstructor(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{1, longest / 2, longest} {
		for name, s := range map[string]Schedule{
			"Spaced":            Spaced(d),
			"Fixed":             Fixed(d),
			"Windowed":          Windowed(d),
			"Linear":            Linear(d),
			"Exponential":       Exponential(d),
			"Exponential of 0":  Exponential(0),
			"ExponentialFactor": ExponentialFactor(d, 1e300),
			"Fibonacci":         Fibonacci(d),
		} {
			for _, action := range []time.Duration{0, longest} {
				if ends := checkRange(t, s, action); ends > 0 {
					t.Errorf("%s(%d): got %d ends, want none", name, d, ends)
				}
			}
		}
	}
}

// checkRange follows s for 100,000 steps, anew each time it ends, while each run takes action, and counts the ends.
func checkRange(t interface{ Fatalf(string, ...any) }, s Schedule, action time.Duration) (ends int) {
	var now time.Duration
	next, random := s.at(now), rand.New(rand.NewPCG(1, 2))
	for n := range 100_000 {
		delay, ok := next(tick{now: now, err: errUsual, random: random.Float64})
		if !ok {
			ends++
			next, delay = s.at(now), 0
		}
		if delay < 0 {
			t.Fatalf("step %d: got delay %d, want none below zero", n, delay)
		}
		now = add(add(now, delay), action)
	}
	return ends
}

// event is how a run ended, and after how long.
type event struct {
	err  error
	took time.Duration
}

var events = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
	return event{rapid.SampledFrom([]error{errUsual, errOther, nil}).Draw(t, "err"), durations.Draw(t, "took")}
}), 0, 20)

type decision struct {
	delay time.Duration
	ok    bool
}

// follower follows a schedule by a clock and with a jitter of its own.
type follower struct {
	next   stepFunc
	now    time.Duration
	random *rand.Rand
	got    []decision
}

func follow(s Schedule, seed uint64) *follower {
	return &follower{next: s.at(0), random: rand.New(rand.NewPCG(seed, 0))}
}

func (f *follower) step(e event) {
	delay, ok := f.next(tick{now: f.now, err: e.err, random: f.random.Float64})
	if !ok {
		delay = 0
	}
	f.now = add(add(f.now, delay), e.took)
	f.got = append(f.got, decision{delay, ok})
}

// L2: two runs of one value never affect one another, whichever way their steps interleave.
func TestL2RunsAreIndependent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := schedules(3).Draw(t, "s")
		var (
			left            [2][]event
			alone, together [2]*follower
		)
		for i := range left {
			left[i] = events.Draw(t, "events")
			alone[i], together[i] = follow(s, uint64(i)), follow(s, uint64(i))
			for _, e := range left[i] {
				alone[i].step(e)
			}
		}
		for len(left[0])+len(left[1]) > 0 {
			i := rapid.IntRange(0, 1).Draw(t, "who")
			if len(left[i]) == 0 {
				i = 1 - i
			}
			together[i].step(left[i][0])
			left[i] = left[i][1:]
		}
		for i := range alone {
			if got, want := together[i].got, alone[i].got; !slices.Equal(got, want) {
				t.Fatalf("run %d: got %v, want %v as when alone", i, got, want)
			}
		}
	})
}

// L2, for the race detector: goroutines follow one value at once.
func TestL2ConcurrentRuns(t *testing.T) {
	t.Parallel()
	s := Recurs(3).Then(Fixed(time.Second).Or(Linear(time.Millisecond)).ResetAfter(time.Second)).
		And(Fibonacci(time.Millisecond)).Then(Durations(1, 2)).UpTo(time.Minute).Within(time.Hour).Capped(time.Second).
		Until(func(err error) bool { return err == errOther }).Repeated()
	script := make([]event, 1000)
	for i := range script {
		script[i] = event{[]error{errUsual, errUsual, errOther}[i%3], time.Duration(i) * time.Millisecond}
	}
	run := func() []decision {
		f := follow(s, 0)
		for _, e := range script {
			f.step(e)
		}
		return f.got
	}
	want := run()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got := run(); !slices.Equal(got, want) {
				t.Error("got other decisions than when alone, want the same")
			}
		})
	}
	group.Wait()
}

// L4: jitter is uniform. Each of ten buckets must get its share of the draws within 12 standard deviations.
func TestL4JitterIsUniform(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(0, 2).Draw(t, "low")
		high := low + rapid.Float64Range(0.01, 2).Draw(t, "width")
		f := follow(Spaced(time.Hour).JitteredBetween(low, high), rapid.Uint64().Draw(t, "seed"))
		checkUniform(t, low, high, func() time.Duration {
			f.step(event{})
			return f.got[len(f.got)-1].delay
		})
	})
}

// L4 for the source that runs use, which cannot be seeded.
func TestL4JitterOfRunsIsUniform(t *testing.T) {
	t.Parallel()
	run := Spaced(time.Hour).Jittered().Start()
	checkUniform(t, 0.8, 1.2, func() time.Duration {
		delay, _ := run.Next(nil)
		return delay
	})
}

func checkUniform(t interface{ Fatalf(string, ...any) }, low, high float64, draw func() time.Duration) {
	const (
		draws  = 20_000
		want   = draws / 10
		margin = 510 // 12 * sqrt(draws * 0.1 * 0.9)
	)
	var got [10]int
	for range draws {
		factor := float64(draw()) / float64(time.Hour)
		if factor < low-1e-9 || factor > high+1e-9 {
			t.Fatalf("got factor %v, want one between %v and %v", factor, low, high)
		}
		bucket := int((factor - low) / (high - low) * 10)
		got[min(max(bucket, 0), 9)]++
	}
	for bucket, n := range got {
		if n < want-margin || n > want+margin {
			t.Fatalf("bucket %d: got %d draws, want %d±%d", bucket, n, want, margin)
		}
	}
}

// L4: one number is drawn for each step, and by each run.
func TestL4JitterIsDrawnPerStepAndRun(t *testing.T) {
	t.Parallel()
	drawn := 0
	count := func() float64 {
		drawn++
		return 0.5
	}
	s := Spaced(time.Hour).Jittered()
	for range 2 {
		next := s.at(0)
		for range 3 {
			next(tick{random: count})
		}
	}
	if drawn != 6 {
		t.Errorf("got %d draws for 3 steps of 2 runs, want 6", drawn)
	}
	a, b := s.Start(), s.Start()
	for range 10 {
		first, _ := a.Next(nil)
		second, _ := b.Next(nil)
		if first != second {
			return
		}
	}
	t.Error("got equal delays from two runs, want their own")
}
