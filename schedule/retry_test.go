package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/schedule"
)

// clock notes when it is asked, in time since it was made.
type clock struct {
	began time.Time
	at    []time.Duration
}

func newClock() *clock { return &clock{began: time.Now()} }

func (c *clock) note() { c.at = append(c.at, time.Since(c.began)) }

func (c *clock) want(t *testing.T, want ...time.Duration) {
	t.Helper()
	if !slices.Equal(c.at, want) {
		t.Errorf("got runs at %v, want %v", c.at, want)
	}
}

func TestRetryTiming(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		s    schedule.Schedule
		want []time.Duration // when a run of 30ms begins
	}{
		{"stop", schedule.Stop(), []time.Duration{0}},
		{"at once", schedule.Recurs(2), []time.Duration{0, 30 * ms, 60 * ms}},
		{"spaced", schedule.Spaced(100 * ms).And(schedule.Recurs(2)), []time.Duration{0, 130 * ms, 260 * ms}},
		{"fixed", schedule.Fixed(100 * ms).And(schedule.Recurs(3)), []time.Duration{0, 130 * ms, 230 * ms, 330 * ms}},
		{"exponential", schedule.Exponential(10 * ms).And(schedule.Recurs(3)), []time.Duration{0, 40 * ms, 90 * ms, 160 * ms}},
		{"within", schedule.Spaced(50 * ms).Within(100 * ms), []time.Duration{0, 80 * ms, 130 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newClock()
				value, err := schedule.Retry(t.Context(), tt.s, func(context.Context) (int, error) {
					c.note()
					time.Sleep(30 * ms)
					return len(c.at), errFailed
				})
				c.want(t, tt.want...)
				if value != len(tt.want) || err != errFailed {
					t.Errorf("got %v, %v, want what the last run returned", value, err)
				}
			})
		})
	}
}

func TestRetryUntilSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		value, err := schedule.Retry(t.Context(), schedule.Linear(time.Second), func(context.Context) (string, error) {
			c.note()
			if len(c.at) < 3 {
				return "", errFailed
			}
			return "done", nil
		})
		c.want(t, 0, time.Second, 3*time.Second)
		if value != "done" || err != nil {
			t.Errorf("got %q, %v, want done", value, err)
		}
	})
}

func TestRetryOfAnotherFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		failure func(run int) error
		want    int
	}{
		{func(int) error { return errFailed }, 1},
		{func(run int) error { return input(run) }, 4},
		{func(run int) error {
			if run == 2 {
				return errFailed
			}
			return fmt.Errorf("read: %w", input(run))
		}, 2},
	} {
		runs := 0
		s := schedule.WhileFailure[input](schedule.Recurs(3), nil)
		_, _ = schedule.Retry(t.Context(), s, func(context.Context) (int, error) {
			runs++
			return 0, tt.failure(runs)
		})
		if runs != tt.want {
			t.Errorf("got %d runs, want %d", runs, tt.want)
		}
	}
}

var errCause = errors.New("shutting down")

// L3: with a context that has ended, nothing runs, and the error is the context's.
func TestL3EndedBeforeTheFirstRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	runs := 0
	for name, follow := range followers {
		value, err := follow(ctx, schedule.Forever(), count(&runs, nil))
		if runs != 0 || value != 0 || !errors.Is(err, context.Canceled) || !errors.Is(err, errCause) {
			t.Errorf("%s: got %d runs, %v, %v, want none and the context's error", name, runs, value, err)
		}
	}
}

var followers = map[string]func(context.Context, schedule.Schedule, func(context.Context) (int, error)) (int, error){
	"Retry":  schedule.Retry[int],
	"Repeat": schedule.Repeat[int],
}

// L3: a context that ends during a wait ends it at once, and the error is the last failure and the context's.
func TestL3EndsAWait(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		want []error
	}{
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 2500*ms)
		}, []error{context.DeadlineExceeded}},
		{"deadline with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, 2500*ms, errCause)
		}, []error{context.DeadlineExceeded, errCause}},
		{"cancel with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(2500*ms, func() { cancel(errCause) })
			return ctx, func() { cancel(nil) }
		}, []error{context.Canceled, errCause}},
		{"cancel with a cause around the error", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(2500*ms, func() { cancel(fmt.Errorf("%w: %w", errCause, context.Canceled)) })
			return ctx, func() { cancel(nil) }
		}, []error{context.Canceled, errCause}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := tt.end(t.Context())
				defer cancel()
				c := newClock()
				_, err := schedule.Retry(ctx, schedule.Spaced(time.Second), func(context.Context) (int, error) {
					c.note()
					return 0, errFailed
				})
				c.note()
				c.want(t, 0, time.Second, 2*time.Second, 2500*ms)
				wantIs(t, err, append(tt.want, errFailed)...)
			})
		})
	}
}

func wantIs(t *testing.T, err error, wants ...error) {
	t.Helper()
	for _, want := range wants {
		if !errors.Is(err, want) {
			t.Errorf("got %v, want it to be %v", err, want)
		}
	}
}

// L3: a context that has ended when op fails means no further run, whatever the schedule says.
func TestL3EndedWhenOpFails(t *testing.T) {
	t.Parallel()
	own := fmt.Errorf("read: %w", context.Canceled)
	tests := []struct {
		name string
		s    schedule.Schedule
		err  error
		same bool // the error is op's as it is
	}{
		{"go on", schedule.Forever(), errFailed, false},
		{"stop", schedule.Stop(), errFailed, false},
		{"op reports the context", schedule.Forever(), own, true},
		{"op reports another context's end", schedule.Forever(), context.DeadlineExceeded, false},
	}
	for _, tt := range tests {
		runs := 0
		ctx, cancel := context.WithCancel(t.Context())
		asked := tt.s.Tap(func(error, time.Duration) { t.Errorf("%s: got the schedule asked, want it left alone", tt.name) })
		value, err := schedule.Retry(ctx, asked, func(context.Context) (int, error) {
			runs++
			cancel()
			return 7, tt.err
		})
		wantIs(t, err, tt.err, context.Canceled)
		if runs != 1 || value != 7 || (err == tt.err) != tt.same {
			t.Errorf("%s: got %d runs, %v, %v, want one", tt.name, runs, value, err)
		}
	}
}

// An earlier failure is told, but must not speak for the last run, whose outcome may be another.
func TestL3EarlierFailureIsToldNotWrapped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	_, err := schedule.Retry(ctx, schedule.Forever(), func(ctx context.Context) (int, error) {
		if runs++; runs == 1 {
			return 0, errFailed
		}
		cancel()
		return 0, ctx.Err()
	})
	wantIs(t, err, context.Canceled)
	if errors.Is(err, errFailed) || !strings.Contains(err.Error(), errFailed.Error()) {
		t.Errorf("got %v, want the failure before in its text only", err)
	}
}

func TestRetryFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		runs int
	}{
		{"typed", &os.PathError{Err: errFailed}, 3},
		{"wrapped", fmt.Errorf("op: %w", &os.PathError{Err: errFailed}), 3},
		{"defect", errFailed, 1},
	}
	for _, tt := range tests {
		runs := 0
		_, err := schedule.RetryFailures[*os.PathError](t.Context(), schedule.Recurs(2), func(context.Context) (int, error) {
			runs++
			return 0, tt.err
		})
		if err != tt.err || runs != tt.runs {
			t.Errorf("%s: got %v after %d runs, want %v after %d", tt.name, err, runs, tt.err, tt.runs)
		}
	}
}

func TestOnRetry(t *testing.T) {
	t.Parallel()
	var told []string
	note := func(who string) func(error, time.Duration) {
		return func(err error, delay time.Duration) { told = append(told, fmt.Sprint(who, err, delay)) }
	}
	ctx := schedule.OnRetry(schedule.OnRetry(t.Context(), note("outer ")), note("inner "))
	_, err := schedule.Retry(ctx, schedule.Durations(0, 1), func(context.Context) (int, error) { return 0, errFailed })
	want := []string{"inner failed 0s", "outer failed 0s", "inner failed 1ns", "outer failed 1ns"}
	if err != errFailed || !slices.Equal(told, want) {
		t.Errorf("got %v, told %q, want %q", err, told, want)
	}
}

// A nil error is success, even if the context has ended.
func TestSuccessInAnEndedContext(t *testing.T) {
	t.Parallel()
	for name, follow := range followers {
		ctx, cancel := context.WithCancel(t.Context())
		value, err := follow(ctx, schedule.Stop(), func(context.Context) (int, error) {
			cancel()
			return 7, nil
		})
		if value != 7 || err != nil {
			t.Errorf("%s: got %v, %v, want 7", name, value, err)
		}
	}
}

// L3: without a wait, the context still ends the runs.
func TestL3EndsRunsWithoutDelay(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"Retry": errFailed, "Repeat": nil} {
		ctx, cancel := context.WithCancel(t.Context())
		runs := 0
		s := schedule.Forever().Tap(func(error, time.Duration) {
			if runs == 3 {
				cancel() // between two runs
			}
		})
		value, err := followers[name](ctx, s, count(&runs, failure))
		if runs != 3 || value != 3 || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %d runs, %v, %v, want 3 and the context's error", name, runs, value, err)
		}
	}
}

func TestInterruptedMessage(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := schedule.Retry(ctx, schedule.Forever(), func(context.Context) (int, error) {
		cancel(errCause)
		return 0, errFailed
	})
	if want := "failed (not retried: context canceled: shutting down)"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if strings.Count(err.Error(), "context canceled") != 1 {
		t.Errorf("got %q, want the context's error once", err)
	}
}

func TestPanicsPass(t *testing.T) {
	t.Parallel()
	for name, follow := range followers {
		got := panicked(func() {
			_, _ = follow(t.Context(), schedule.Forever(), func(context.Context) (int, error) { panic("defect") })
		})
		if got != "defect" {
			t.Errorf("%s: got panic %q, want defect", name, got)
		}
	}
}

func TestRepeatTiming(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		s    schedule.Schedule
		want []time.Duration // when a run of 30ms begins
	}{
		{"stop", schedule.Stop(), []time.Duration{0}},
		{"spaced", schedule.Spaced(100 * ms).And(schedule.Recurs(2)), []time.Duration{0, 130 * ms, 260 * ms}},
		{"fixed", schedule.Fixed(100 * ms).And(schedule.Recurs(3)), []time.Duration{0, 130 * ms, 230 * ms, 330 * ms}},
		{"windowed", schedule.Windowed(20 * ms).And(schedule.Recurs(2)), []time.Duration{0, 50 * ms, 90 * ms}},
		{"until success", schedule.Forever().Until(func(err error) bool { return err == nil }), []time.Duration{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newClock()
				value, err := schedule.Repeat(t.Context(), tt.s, func(context.Context) (int, error) {
					c.note()
					time.Sleep(30 * ms)
					return len(c.at), nil
				})
				c.want(t, tt.want...)
				if value != len(tt.want) || err != nil {
					t.Errorf("got %v, %v, want what the last run returned", value, err)
				}
			})
		})
	}
}

func TestRepeatEndsAtTheFirstError(t *testing.T) {
	t.Parallel()
	runs := 0
	value, err := schedule.Repeat(t.Context(), schedule.Forever(), func(context.Context) (int, error) {
		if runs++; runs == 3 {
			return runs, errFailed
		}
		return runs, nil
	})
	if value != 3 || err != errFailed {
		t.Errorf("got %v, %v, want the third run's", value, err)
	}
}

func TestL3RepeatEndsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*ms)
		defer cancel()
		c, runs := newClock(), 0
		value, err := schedule.Repeat(ctx, schedule.Spaced(time.Second), count(&runs, nil))
		c.note()
		c.want(t, 2500*ms)
		if value != 3 || err != context.DeadlineExceeded {
			t.Errorf("got %v, %v, want the third run's value and %v", value, err, context.DeadlineExceeded)
		}
	})
}

func TestSleep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		d        time.Duration
		deadline time.Duration
		wantErr  error
		want     time.Duration
	}{
		{"to its end", time.Second, time.Hour, nil, time.Second},
		{"cut short", time.Hour, time.Second, context.DeadlineExceeded, time.Second},
		{"for ever", longest, time.Second, context.DeadlineExceeded, time.Second},
		{"nothing", 0, time.Second, nil, 0},
		{"less than nothing", -time.Second, time.Second, nil, 0},
		{"nothing, ended", 0, -time.Second, context.DeadlineExceeded, 0},
		{"ended", time.Hour, -time.Second, context.DeadlineExceeded, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				c := newClock()
				if err := schedule.Sleep(ctx, tt.d); err != tt.wantErr {
					t.Errorf("got %v, want %v", err, tt.wantErr)
				}
				c.note()
				c.want(t, tt.want)
			})
		})
	}
}
