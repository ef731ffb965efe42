package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/schedule"
)

const ms = time.Millisecond

// Each line of the file is what the schedules of ZIO 2.1.24 did: "name | what followed", or a sentence.
const vectorFile = "testdata/zio-2.1.24-schedule.txt"

// A vector compares a schedule of ours with the right-hand side of a line.
type vector func(t *testing.T, want string) error

var vectors = map[string]vector{
	"recurs(3)":                 cells(schedule.Recurs(3)),
	"recurs(0)":                 cells(schedule.Recurs(0)),
	"once":                      cells(schedule.Once()),
	"stop":                      cells(schedule.Stop()),
	"forever":                   cells(schedule.Forever()),
	"exponential(10ms)":         cells(schedule.Exponential(10 * ms)),
	"exponential(10ms, 1.5)":    cells(schedule.ExponentialFactor(10*ms, 1.5)),
	"exponential(10ms, 0.5)":    cells(schedule.ExponentialFactor(10*ms, 0.5)),
	"exponential(10ms, 0)":      cells(schedule.ExponentialFactor(10*ms, 0)),
	"exponential(0ms)":          cells(schedule.Exponential(0)),
	"exponential(1ns, 3)":       cells(schedule.ExponentialFactor(1, 3)),
	"linear(10ms)":              cells(schedule.Linear(10 * ms)),
	"fibonacci(10ms)":           cells(schedule.Fibonacci(10 * ms)),
	"fromDuration(50ms)":        cells(schedule.Durations(50 * ms)),
	"fromDurations(10,30,20ms)": cells(schedule.Durations(10*ms, 30*ms, 20*ms)),

	"spaced(100ms), action 30ms":                cells(schedule.Spaced(100*ms), 30),
	"fixed(100ms), action 0":                    cells(schedule.Fixed(100*ms), 0),
	"fixed(100ms), action 30":                   cells(schedule.Fixed(100*ms), 30),
	"fixed(100ms), action 100 (exactly)":        cells(schedule.Fixed(100*ms), 100),
	"fixed(100ms), action 101":                  cells(schedule.Fixed(100*ms), 101),
	"fixed(100ms), action 150":                  cells(schedule.Fixed(100*ms), 150),
	"fixed(100ms), actions 10,350,10,10,10..":   cells(schedule.Fixed(100*ms), 10, 350, 10),
	"windowed(100ms), action 30":                cells(schedule.Windowed(100*ms), 30),
	"windowed(100ms), action 100 (exactly)":     cells(schedule.Windowed(100*ms), 100),
	"windowed(100ms), action 150":               cells(schedule.Windowed(100*ms), 150),
	"windowed(100ms), actions 10,350,10..":      cells(schedule.Windowed(100*ms), 10, 350, 10),
	"upTo(100ms), action 30":                    cells(schedule.Forever().UpTo(100*ms), 30),
	"upTo(0ms)":                                 cells(schedule.Forever().UpTo(0)),
	"spaced(40ms).upTo(100ms), action 0":        cells(schedule.Spaced(40*ms).UpTo(100*ms), 0),
	"exponential(10ms).upTo(100ms), action 0":   cells(schedule.Exponential(10*ms).UpTo(100*ms), 0),
	"exponential(10ms) && recurs(3)":            cells(schedule.Exponential(10 * ms).And(schedule.Recurs(3))),
	"spaced(50ms) && exponential(10ms)":         cells(schedule.Spaced(50 * ms).And(schedule.Exponential(10 * ms))),
	"exponential(10ms) || spaced(50ms)":         cells(schedule.Exponential(10 * ms).Or(schedule.Spaced(50 * ms))),
	"recurs(1) || recurs(3)":                    cells(schedule.Recurs(1).Or(schedule.Recurs(3))),
	"(recurs(1) || spaced(50ms)) 4 steps":       cells(schedule.Recurs(1).Or(schedule.Spaced(50 * ms))),
	"exp(10ms) *> recurs(2)":                    cells(schedule.Exponential(10 * ms).And(schedule.Recurs(2))),
	"recurs(2) ++ spaced(50ms)&&recurs(2)":      cells(schedule.Recurs(2).Then(schedule.Spaced(50 * ms).And(schedule.Recurs(2)))),
	"recurs(2) andThenEither exponential(10ms)": cells(schedule.Recurs(2).Then(schedule.Exponential(10 * ms))),
	"stop ++ spaced(50ms)":                      cells(schedule.Stop().Then(schedule.Spaced(50 * ms))),
	"recurs(2).forever":                         cells(schedule.Recurs(2).Repeated()),
	"(exp(10ms)&&recurs(2)).forever":            cells(schedule.Exponential(10 * ms).And(schedule.Recurs(2)).Repeated()),

	"exponential(10ms).resetAfter(50ms), action 0":   cells(schedule.Exponential(10*ms).ResetAfter(50*ms), 0),
	"exponential(10ms).resetAfter(50ms), action 200": cells(schedule.Exponential(10*ms).ResetAfter(50*ms), 200),
	"recurs(3).resetAfter(50ms), action 40":          cells(schedule.Recurs(3).ResetAfter(50*ms), 40),

	"exp(10ms).delayed(min 30ms)":             cells(schedule.Exponential(10 * ms).Capped(30 * ms)),
	"exp(10ms).addDelay(_=>5ms)":              cells(schedule.Exponential(10 * ms).AddDelay(5 * ms)),
	"exp(10ms).delayed(_ => -5ms)":            clamped(schedule.Exponential(10 * ms).Delayed(func(time.Duration) time.Duration { return -5 * ms })),
	"recurWhile(_<2) inputs 0,1,2":            cells(schedule.Forever().While(below2)),
	"recurUntil(_>=2) inputs 0,1,2":           cells(schedule.Forever().Until(func(err error) bool { return !below2(err) })),
	"spaced(5ms).whileInput(_<2)":             cells(schedule.Spaced(5 * ms).While(below2)),
	"spaced(100ms).jittered":                  spread(schedule.Spaced(100 * ms).Jittered()),
	"spaced(100ms).jittered(0,1)":             spread(schedule.Spaced(100*ms).JitteredBetween(0, 1)),
	"(exp(100ms)||spaced(100ms)).jittered":    spread(schedule.Exponential(100 * ms).Or(schedule.Spaced(100 * ms)).Jittered()),
	"spaced(100ms).jittered && spaced(100ms)": spread(schedule.Spaced(100 * ms).Jittered().And(schedule.Spaced(100 * ms))),
	"fromDuration(Infinity).jittered":         spread(schedule.Durations(math.MaxInt64).Repeated().Jittered()),

	"exponential(1s) step 33,34,62,63,64,1023,1024,1100": numbered(schedule.Exponential(time.Second)),
	"fibonacci(1h) step 40,50,60,90,100":                 numbered(schedule.Fibonacci(time.Hour)),
	"linear(1000000 hours) step 0,1,2,3,4":               numbered(schedule.Linear(1_000_000 * time.Hour)),

	"fail.retry(recurs(3)) runs the effect 4 times": func(t *testing.T, _ string) error {
		runs, err := 0, errors.New("E")
		_, _ = schedule.Retry(t.Context(), schedule.Recurs(3), count(&runs, err))
		return equal(runs, 4)
	},
	"ok.repeat(recurs(3)) runs the effect 4 times": func(t *testing.T, _ string) error {
		runs := 0
		_, _ = schedule.Repeat(t.Context(), schedule.Recurs(3), count(&runs, nil))
		return equal(runs, 4)
	},
	"fail.retry gives the last error: Left(E)": func(t *testing.T, _ string) error {
		runs, want := 0, errors.New("E")
		_, err := schedule.Retry(t.Context(), schedule.Recurs(3), count(&runs, want))
		return equal(err, want)
	},
	"die.retry(recurs(3)): runs 1 (a defect is not retried)": func(t *testing.T, _ string) error {
		runs := 0
		defect := func() (p any) {
			defer func() { p = recover() }()
			_, _ = schedule.Retry(t.Context(), schedule.Recurs(3), func(context.Context) (int, error) {
				runs++
				panic("defect")
			})
			return nil
		}()
		return errors.Join(equal(runs, 1), equal(defect, any("defect")))
	},
	"one recurs(2) value used by two retries at once: 6 runs in all (independent)": func(t *testing.T, _ string) error {
		var (
			s     = schedule.Recurs(2)
			runs  [2]int
			group sync.WaitGroup
		)
		for i := range runs {
			group.Go(func() { _, _ = schedule.Retry(t.Context(), s, count(&runs[i], errors.New("E"))) })
		}
		group.Wait()
		return equal(runs, [2]int{3, 3})
	},
}

// excluded are the lines that nothing of ours compares with, and why.
var excluded = map[string]string{
	"each cell: delay-in-ms[output]; the action takes the given ms per run": "the heading",

	"recurs(-1)": "refused argument",
	"fixed(0ms)": "refused argument",
	"spaced(100ms).jittered(1.5,0.5) min>max": "refused argument",
	"spaced(100ms).jittered(-1,1)":            "refused argument",
	"spaced(100ms).jittered(NaN..)":           "refused argument",

	"elapsed, action 30":                                         "needs an output",
	"exp(10ms).modifyDelay((out,d)=>d+out)":                      "needs an output",
	"exp(10ms).delays":                                           "needs an output",
	"recurs(3).repetitions":                                      "needs an output",
	"recurs(3).fold(0)(+)":                                       "needs an output",
	"recurs(2).collectAll":                                       "needs an output",
	"forever.untilOutput(_==2)":                                  "needs an output",
	"forever.whileOutput(_<2)":                                   "needs an output",
	"recurs(2) >>> exponential? (recurs(5) >>> elapsed) a30":     "needs an output",
	"ok.repeat(recurs(3)) returns the schedule's last output: 3": "needs an output",
}

func TestVectors(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for line := range strings.Lines(string(file)) {
		name, _ := split(line)
		met[name] = true
		t.Run(name, func(t *testing.T) {
			if err := compare(t, line); err != nil {
				t.Error(err)
			}
		})
	}
	for name := range vectors {
		if !met[name] {
			t.Errorf("no line is named %q", name)
		}
	}
	for name := range excluded {
		if !met[name] || vectors[name] != nil {
			t.Errorf("excluded %q is not a line, or is compared", name)
		}
	}
}

// TestVectorsCanFail gives lines that are wrong to what compares the right ones.
func TestVectorsCanFail(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"spaced(7ms) | 7[0]",                                 // unknown
		"recurs(3)   | ",                                     // nothing to compare with
		"recurs(3)   | 0[0] 0[1] DONE[2]",                    // ends too early
		"recurs(3)   | 0[0] 0[1] 0[2] 0[3]",                  // ends too late
		"recurs(3)   | 0[0] 0[1] 0.001[2] DONE[3]",           // another delay
		"exp(10ms).delayed(_ => -5ms) | -5[10ms] 10[20ms]",   // only negative delays are clamped
		"spaced(100ms).jittered | min 80 max 118 mean 100",   // another range
		"linear(1000000 hours) step 0,1,2,3,4 | #0: out=1ns", // another number
	} {
		if compare(t, line) == nil {
			t.Errorf("no error for %q", line)
		}
	}
}

func split(line string) (name, want string) {
	name, want = strings.TrimSpace(line), ""
	// The name itself may contain "||", the cells do not contain "|".
	if i := strings.LastIndex(name, "|"); i >= 0 {
		name, want = name[:i], name[i+1:]
	}
	return strings.TrimSpace(name), strings.TrimSpace(want)
}

func compare(t *testing.T, line string) error {
	name, want := split(line)
	if excluded[name] != "" {
		return nil
	}
	v := vectors[name]
	if v == nil {
		return fmt.Errorf("%q is neither compared nor excluded", name)
	}
	return v(t, want)
}

// cells compares with "10[out] 20[out] DONE[out]": the delays in ms, where the runs take the given ms, the last of
// them for ever, and the n-th run fails with input(n). ZIO's outputs have no counterpart.
func cells(s schedule.Schedule, actions ...int) vector {
	return func(t *testing.T, want string) (err error) {
		wants := strings.Fields(want)
		if len(wants) == 0 {
			return errors.New("no cells")
		}
		synctest.Test(t, func(*testing.T) { err = equal(follow(s, actions, len(wants)), withoutOutputs(wants)) })
		return err
	}
}

// clamped is cells where a negative delay of ZIO's is zero in ours.
func clamped(s schedule.Schedule) vector {
	compare := cells(s)
	negative := regexp.MustCompile(`-[0-9.]+\[`)
	return func(t *testing.T, want string) error { return compare(t, negative.ReplaceAllString(want, "0[")) }
}

func withoutOutputs(wants []string) string {
	for i, want := range wants {
		delay, _, _ := strings.Cut(want, "[")
		if ms, err := strconv.ParseFloat(delay, 64); err == nil {
			delay = fmt.Sprintf("%.3f", ms)
		}
		wants[i] = delay
	}
	return strings.Join(wants, " ")
}

func follow(s schedule.Schedule, actions []int, steps int) string {
	var got []string
	run := s.Start()
	for n := range steps {
		if len(actions) > 0 {
			time.Sleep(time.Duration(actions[min(n, len(actions)-1)]) * ms)
		}
		delay, ok := run.Next(input(n))
		if !ok {
			got = append(got, "DONE")
			continue
		}
		got = append(got, fmt.Sprintf("%.3f", float64(delay)/float64(ms)))
		time.Sleep(delay)
	}
	return strings.Join(got, " ")
}

type input int

func (i input) Error() string { return fmt.Sprintf("input %d", int(i)) }

func below2(err error) bool {
	in, ok := errors.AsType[input](err)
	return ok && in < 2
}

var numberedStep = regexp.MustCompile(`#(\d+): out=(\d+)ns`)

// numbered compares with "#step: out=delay in ns", which counts steps from zero.
func numbered(s schedule.Schedule) vector {
	return func(_ *testing.T, want string) error {
		var delays []time.Duration
		run := s.Start()
		for range 1200 {
			delay, _ := run.Next(nil)
			delays = append(delays, delay)
		}
		steps := numberedStep.FindAllStringSubmatch(want, -1)
		if len(steps) == 0 {
			return errors.New("no steps")
		}
		for _, step := range steps {
			n, err := strconv.Atoi(step[1])
			if err != nil {
				return err
			}
			if got := strconv.FormatInt(int64(delays[n]), 10); got != step[2] {
				return fmt.Errorf("step %d: got %sns, want %sns", n, got, step[2])
			}
		}
		return nil
	}
}

// spread compares with "min 80.000ms max 119.999ms mean 99.946ms", which were drawn: the same figures of 100,000 draws
// of ours must be within a hundredth of the largest, which is more than 25 standard deviations of each.
func spread(s schedule.Schedule) vector {
	return func(_ *testing.T, want string) error {
		var low, high, mean float64
		if _, err := fmt.Sscanf(strings.ReplaceAll(want, "ms", ""), "min %g max %g mean %g", &low, &high, &mean); err != nil {
			return err
		}
		const draws = 100_000
		gotLow, gotHigh, sum := math.Inf(1), 0.0, 0.0
		run := s.Start()
		for range draws {
			delay, _ := run.Next(nil)
			d := float64(delay) / float64(ms)
			gotLow, gotHigh, sum = min(gotLow, d), max(gotHigh, d), sum+d
		}
		for _, figure := range []struct{ got, want float64 }{{gotLow, low}, {gotHigh, high}, {sum / draws, mean}} {
			if math.Abs(figure.got-figure.want) > high/100 {
				return fmt.Errorf("got %v, want about %v", figure.got, figure.want)
			}
		}
		return nil
	}
}

// count is an op that counts its runs and answers their number.
func count(runs *int, err error) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		*runs++
		return *runs, err
	}
}

func equal[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}
