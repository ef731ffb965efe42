package ferry_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/ferry"
)

var errBoom = errors.New("boom")

// quick makes a ferry whose calls answer at once, and closes it when the test ends.
func quick[K comparable, I any](t *testing.T, keyOf func(I) K, weigh func(I) int) *ferry.Ferry[K, I, I] {
	f := ferry.PerKeyWeighed(ferry.Config{MaxWeight: 10, MaxQueuedWeight: 5}, keyOf, weigh,
		func(_ context.Context, _ K, ins []I) ([]I, error) { return ins, nil })
	t.Cleanup(func() {
		if s := f.Stats(); s.Lanes+s.Queued+s.QueuedWeight+s.InFlight != 0 {
			t.Errorf("at rest: got %+v", s)
		}
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestL23APanicOfAUsersFunctionIsThatSubmitsError(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := quick(t,
			func(in string) string {
				if in == "key" {
					panic(errBoom)
				}
				return in
			},
			func(in string) int {
				if in == "weight" {
					panic("boom")
				}
				return 0
			})
		for _, in := range []string{"key", "weight"} {
			_, err := f.Submit(t.Context(), in)
			p, ok := errors.AsType[*ferry.PanicError](err)
			if !ok || !ferry.NotSent(err) {
				t.Fatalf("%s: got %v, want a *PanicError, not sent", in, err)
			}
			if !strings.Contains(err.Error(), "boom") || !strings.Contains(string(p.Stack), "failure_test.go") {
				t.Errorf("%s: got %v with stack\n%s\nwant what and where", in, err, p.Stack)
			}
			if out, err := f.Submit(t.Context(), "fine"); out != "fine" || err != nil {
				t.Errorf("afterwards: got %q, %v, want an answer", out, err)
			}
		}
	})
}

func TestL23Weights(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for weight, want := range map[int]error{
			-1:          ferry.ErrWeight,
			math.MinInt: ferry.ErrWeight,
			0:           nil,
			5:           nil,
			6:           ferry.ErrWeight, // over MaxQueuedWeight: it could wait for ever
			11:          ferry.ErrWeight, // over MaxWeight as well
			math.MaxInt: ferry.ErrWeight,
		} {
			f := quick(t, func(int) string { return "k" }, func(in int) int { return in })
			_, err := f.Submit(t.Context(), weight)
			if want == nil {
				if err != nil {
					t.Errorf("weight %d: got %v, want nil", weight, err)
				}
				continue
			}
			wantError(t, "weight", err, want, false)
			if e, ok := errors.AsType[*ferry.Error](err); !ok || e.Key != "k" {
				t.Errorf("weight %d: got %v, want the key named", weight, err)
			}
		}
	})
}

func TestL23AnInputHeavierThanABatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxWeight: 3})
		p.submit("a*4").wantNotSent(t, ferry.ErrWeight)
		p.submit("a*3")
		p.land("a")
		p.wantLog("a*3")
	})
}

func TestL20AWrongNumberOfAnswers(t *testing.T) {
	tests := []struct {
		name string
		outs []string
	}{
		{"more", []string{"a1", "a2", "a3"}},
		{"fewer", []string{"a1"}},
		{"nil", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := open(t, ferry.Config{})
				p.submit("a0")
				first, second, third := p.submit("a1"), p.submit("a2"), p.submit("b1")
				p.land("a")
				behind := p.submit("a3")
				p.finish("a", func() ([]string, error) { return tt.outs, nil })
				for _, tk := range []*ticket{first, second} {
					if got, ok := errors.AsType[*ferry.CountError](tk.err()); !ok || *got != (ferry.CountError{Got: len(tt.outs), Want: 2}) {
						t.Errorf("%s: got %v, want a *CountError with both numbers", tk.in, tk.err())
					}
					if tk.out() != "" || ferry.NotSent(tk.err()) {
						t.Errorf("%s: got %q, %v, want no answer, outcome unknown", tk.in, tk.out(), tk.err())
					}
				}
				p.land("a", "b")
				behind.wantAnswer(t)
				third.wantAnswer(t)
			})
		})
	}
}

func TestL20AnErrorIsTheErrorAlsoWithAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		tk := p.submit("a1")
		p.finish("a", func() ([]string, error) { return []string{"a1"}, errBoom })
		tk.wantUnknown(t, errBoom)
		if tk.out() != "" {
			t.Errorf("output: got %q, want none beside an error", tk.out())
		}
	})
}

func TestL20AFailureIsEveryCallersOfItsBatchAndNobodyElses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		p.submit("a0")
		x, y := p.submit("a1"), p.submit("a2")
		p.land("a")
		next, other := p.submit("a3"), p.submit("b1")
		p.finish("a", func() ([]string, error) { return nil, errBoom })
		x.wantUnknown(t, errBoom)
		y.wantUnknown(t, errBoom)
		next.wantPending(t)
		p.land("a", "b")
		next.wantAnswer(t)
		other.wantAnswer(t)
	})
}

func TestL23APanicInTheCallHasValueAndStack(t *testing.T) {
	tests := []struct {
		name  string
		value any
		want  string
		is    any
	}{
		{"error", errBoom, "boom", errBoom},
		{"string", "boom", "boom", "boom"},
		{"anything", 42, "panic with a int", 42},
		{"nil", nil, "nil", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := open(t, ferry.Config{MaxInFlight: 1})
				tk, behind := p.submit("a1"), p.submit("b1")
				p.finish("a", func() ([]string, error) { panic(tt.value) })
				got, ok := errors.AsType[*ferry.PanicError](tk.err())
				if !ok || ferry.NotSent(tk.err()) {
					t.Fatalf("got %v, want a *PanicError, outcome unknown", tk.err())
				}
				if !strings.Contains(tk.err().Error(), tt.want) || !strings.Contains(string(got.Stack), "failure_test.go") {
					t.Errorf("got %v with stack\n%s\nwant %q and where", tk.err(), got.Stack, tt.want)
				}
				if tt.is != nil && got.Value != tt.is {
					t.Errorf("value: got %v, want %v", got.Value, tt.is)
				}
				p.land("b")
				behind.wantAnswer(t)
			})
		})
	}
}

func TestL23GoexitInTheCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{MaxInFlight: 1})
		for range 3 { // Three, so that a slot or a goroutine that is lost each time is noticed.
			tk, same, other := p.submit("a1"), p.submit("a2"), p.submit("b1")
			p.finish("a", func() ([]string, error) {
				runtime.Goexit()
				return nil, nil
			})
			tk.wantUnknown(t, ferry.ErrGoexit)
			p.wantOut("b1")
			p.land("b", "a")
			same.wantAnswer(t)
			other.wantAnswer(t)
		}
	})
}

func TestL23GoexitBesideCloseAndGrace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{BatchTimeout: time.Second, CancelGrace: time.Second})
		tk := p.submit("a1")
		pass(2 * time.Second)
		tk.wantUnknown(t, ferry.ErrStillOut)
		closed := make(chan error, 1)
		go func() { closed <- p.Close(context.Background()) }()
		synctest.Wait()
		p.finish("a", func() ([]string, error) {
			runtime.Goexit()
			return nil, nil
		})
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// NotSent for every kind of error is also checked where these arise; here for what is wrapped, joined or nested.
func TestL21NotSentAsksTheOutermostFerry(t *testing.T) {
	t.Parallel()
	refused := &ferry.Error{Key: "k", Err: &ferry.BoundError{Bound: ferry.MaxQueued}}
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"not a ferry's", errBoom, false},
		{"a sentinel alone", ferry.ErrOverloaded, false},
		{"refused", refused, true},
		{"wrapped", errors.Join(errBoom, refused), true},
		{"sent", &ferry.Error{Sent: true, Err: errBoom}, false},
		{"refused inside a call", &ferry.Error{Sent: true, Err: refused}, false},
		{"refused by the outer, whatever is inside", &ferry.Error{Err: &ferry.Error{Sent: true}}, true},
	}
	for _, tt := range tests {
		if got := ferry.NotSent(tt.err); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestL21AnInnerFerrysRefusalIsNotOurs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		inner := quick(t, func(in string) string { return in }, func(string) int { return -1 })
		outer := ferry.PerKey(ferry.Config{}, keyOf, func(ctx context.Context, _ string, ins []string) ([]string, error) {
			_, err := inner.Submit(ctx, ins[0])
			if !ferry.NotSent(err) {
				t.Errorf("inner: got %v, want it not sent", err)
			}
			return nil, err
		})
		_, err := outer.Submit(t.Context(), "a1")
		wantError(t, "outer", err, ferry.ErrWeight, true)
		if err := outer.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want string
	}{
		{&ferry.Error{Key: "k", Err: errBoom}, "ferry: key k: not sent: boom"},
		{&ferry.Error{Key: 7, Sent: true, Err: errBoom}, "ferry: key 7: outcome unknown: boom"},
		{&ferry.BoundError{Bound: ferry.MaxQueuedPerKey}, "ferry: overloaded: no room within MaxQueuedPerKey"},
		{&ferry.CountError{Got: 1, Want: 2}, "ferry: the call answered 1 outputs for 2 inputs"},
		{&ferry.PanicError{Value: 1.5}, "panic with a float64"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

type pair struct {
	name string
	at   float64
}

type nested struct {
	in [1]struct{ any }
}

func TestL31KeysThatAreNotEqualToThemselves(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		nan := math.NaN()
		weightless := func(float64) int { return 0 }
		_, err := quick(t, func(in float64) float64 { return in }, weightless).Submit(t.Context(), nan)
		wantError(t, "NaN", err, ferry.ErrKey, false)
		_, err = quick(t, func(in float64) pair { return pair{"k", in} }, weightless).Submit(t.Context(), nan)
		wantError(t, "struct with NaN", err, ferry.ErrKey, false)
		_, err = quick(t, func(in float64) any { return in }, weightless).Submit(t.Context(), nan)
		wantError(t, "interface of NaN", err, ferry.ErrKey, false)
		if out, err := quick(t, func(in float64) pair { return pair{"k", in} }, weightless).Submit(t.Context(), 1); out != 1 || err != nil {
			t.Errorf("an ordinary key: got %v, %v", out, err)
		}
	})
}

func TestL31KeysThatCannotBeHashed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		weightless := func(any) int { return 0 }
		unhashable := []any{[]int{1}, map[string]int{}, func() {}, struct{ s []int }{}, [1]any{[]int{}}}
		plain := quick(t, func(in any) any { return in }, weightless)
		deep := quick(t, func(in any) nested { return nested{[1]struct{ any }{{in}}} }, weightless)
		for _, key := range unhashable {
			_, err := plain.Submit(t.Context(), key)
			wantError(t, "interface", err, ferry.ErrKey, false)
			_, err = deep.Submit(t.Context(), key)
			wantError(t, "nested interface", err, ferry.ErrKey, false)
		}
		for _, key := range []any{nil, 1, "k", pair{"k", 1}, new(int), [2]any{1, "k"}} {
			if _, err := plain.Submit(t.Context(), key); err != nil {
				t.Errorf("key %v: got %v, want nil", key, err)
			}
			if _, err := deep.Submit(t.Context(), key); err != nil {
				t.Errorf("nested key %v: got %v, want nil", key, err)
			}
		}
	})
}

// FlushKey gets keys from outside as well. One that nothing can have been accepted under must not leave the lock held.
func TestL31FlushKeyOfAKeyThatCannotBeUsed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := quick(t, func(in any) any { return in }, func(any) int { return 0 })
		for _, key := range []any{math.NaN(), []int{1}, [1]any{func() {}}} {
			err := func() (err error) {
				defer func() {
					if v := recover(); v != nil {
						t.Errorf("key %v: got panic %v, want an error", key, v)
					}
				}()
				return f.FlushKey(t.Context(), key)
			}()
			if !errors.Is(err, ferry.ErrKey) {
				t.Errorf("key %v: got %v, want ErrKey", key, err)
			}
		}
		if _, err := f.Submit(t.Context(), "k"); err != nil {
			t.Errorf("afterwards: got %v, want nil", err)
		}
	})
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		cfg   ferry.Config
		names []string
	}{
		{"zero", ferry.Config{}, nil},
		{"unlimited", ferry.Config{MaxBatch: -1, MaxWeight: -1, MaxQueued: -1, MaxQueuedWeight: -1, MaxQueuedPerKey: -1,
			MaxInFlight: -1, BatchTimeout: -1, CancelGrace: -1, Overflow: ferry.Wait}, nil},
		{"linger", ferry.Config{Linger: -1}, []string{"Linger"}},
		{"overflow", ferry.Config{Overflow: -2}, []string{"Overflow"}},
		{"both", ferry.Config{Linger: -1, Overflow: -2}, []string{"Linger", "Overflow"}},
	}
	for _, tt := range tests {
		err := tt.cfg.Validate()
		if (err != nil) != (len(tt.names) > 0) {
			t.Errorf("%s: got %v, want fields %v named", tt.name, err, tt.names)
		}
		for _, name := range tt.names {
			if !strings.Contains(err.Error(), "Config."+name) {
				t.Errorf("%s: got %v, want %s named", tt.name, err, name)
			}
		}
	}
}

func TestPanicsAtConstructionNameTheField(t *testing.T) {
	t.Parallel()
	call := func(_ context.Context, _ string, ins []string) ([]string, error) { return ins, nil }
	tests := []struct {
		want string
		make func()
	}{
		{"keyOf", func() { ferry.PerKey[string](ferry.Config{}, nil, call) }},
		{"call", func() { ferry.PerKey[string, string, string](ferry.Config{}, keyOf, nil) }},
		{"weigh", func() { ferry.PerKeyWeighed(ferry.Config{}, keyOf, nil, call) }},
		{"Linger", func() { ferry.PerKey(ferry.Config{Linger: -1}, keyOf, call) }},
		{"Overflow", func() { ferry.PerKey(ferry.Config{Overflow: -9}, keyOf, call) }},
		{"WaitUpTo(0s)", func() { ferry.WaitUpTo(0) }},
		{"WaitUpTo(-1ns)", func() { ferry.WaitUpTo(-1) }},
	}
	for _, tt := range tests {
		if got := panicText(tt.make); !strings.Contains(got, tt.want) {
			t.Errorf("got panic %q, want %q named", got, tt.want)
		}
	}
}

func panicText(f func()) (text string) {
	defer func() {
		switch v := recover().(type) {
		case error:
			text = v.Error()
		case string:
			text = v
		}
	}()
	f()
	return "none"
}

func TestDefaults(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := open(t, ferry.Config{})
		p.submit("a0")
		var errs []error
		go func() { _, errs = p.SubmitAll(t.Context(), slices.Repeat([]string{"a1"}, 4097)) }()
		synctest.Wait()
		p.wantStats(0, 4096, 1)
		if deadline, _ := p.trip("a").ctx.Deadline(); time.Until(deadline) != 30*time.Second {
			t.Errorf("deadline: got %v from now, want 30s", time.Until(deadline))
		}
		p.land("a")
		if got := len(p.trip("a").ins); got != 256 {
			t.Errorf("batch: got %d inputs, want 256", got)
		}
		p.landAll()
		wantBound(t, errs[4096], ferry.MaxQueuedPerKey)
		tk := p.submit("a2")
		pass(31*time.Second - 1)
		tk.wantPending(t)
		pass(1)
		tk.wantUnknown(t, ferry.ErrStillOut)
		p.land("a")
		for key := 'A'; key < 'A'+65; key++ {
			p.submit(string(key) + "1")
		}
		p.wantStats(0, 1, 64)
		p.landAll()
	})
}
