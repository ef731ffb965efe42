package faults_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/faults"
	"github.com/goferry/goferry/backends/internal/contract"
)

// TestLatency takes each operation with a fixed latency and with a drawn one, in virtual time.
func TestLatency(t *testing.T) {
	t.Parallel()
	for _, o := range operations {
		synctest.Test(t, func(t *testing.T) {
			fixed := faults.Latency{Min: 7 * time.Millisecond, Max: 7 * time.Millisecond}
			s := newStores(faults.New(o.plan(faults.Mix{Latency: fixed})))
			start := time.Now()
			if err := o.call(ctx, s); err != nil {
				t.Errorf("%s: %v", o.op, err)
			}
			if got := time.Since(start); got != 7*time.Millisecond {
				t.Errorf("%s: got %v, want 7ms", o.op, got)
			}
		})
	}
}

func TestDrawnLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := faults.New(faults.Plan{Read: faults.Mix{Latency: faults.Latency{Min: 10 * time.Millisecond, Max: 20 * time.Millisecond}}})
		store := faults.View(f, contract.NewView())
		early, late := 0, 0
		for range 1000 {
			start := time.Now()
			if _, err := store.Read(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			switch took := time.Since(start); {
			case took < 10*time.Millisecond || took > 20*time.Millisecond:
				t.Fatalf("got %v, want 10ms to 20ms", took)
			case took < 12*time.Millisecond:
				early++
			case took > 18*time.Millisecond:
				late++
			}
		}
		if early < 150 || late < 150 {
			t.Errorf("got %v under 12ms and %v over 18ms, want about 200 of 1000", early, late)
		}
	})
}

// TestLatencyOfAPut is that of one call, not of each row.
func TestLatencyOfAPut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := faults.New(faults.Plan{Put: faults.Mix{Latency: faults.Latency{Min: time.Second, Max: time.Second}}})
		store := faults.Rows(f, contract.NewRows())
		start := time.Now()
		if err := errors.Join(store.Put(t.Context(), "k", []string{"a", "b", "c"})...); err != nil {
			t.Error(err)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("got %v, want 1s", got)
		}
	})
}

// TestContextEndsOnTheWay: the outcome is unknown, at once, and some of the writes were carried out. L33.
func TestContextEndsOnTheWay(t *testing.T) {
	t.Parallel()
	for _, o := range operations {
		synctest.Test(t, func(t *testing.T) {
			done := 0
			for seed := range uint64(40) {
				mix := faults.Mix{Latency: faults.Latency{Min: 2 * time.Second, Max: 2 * time.Second}}
				plan := o.plan(mix)
				plan.Seed = seed
				s := newStores(faults.New(plan))
				start := time.Now()
				within, cancel := context.WithTimeout(ctx, time.Second)
				err := o.call(within, s)
				cancel()
				if !errors.Is(err, backends.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s, seed %v: got %v, want an unknown outcome", o.op, seed, err)
				}
				if got := time.Since(start); got != time.Second {
					t.Fatalf("%s, seed %v: got it after %v, want 1s", o.op, seed, got)
				}
				if o.done != nil && o.done(s) {
					done++
				}
			}
			if o.done != nil && (done < 5 || done > 35) {
				t.Errorf("%s: got %v of 40 carried out, want about half", o.op, done)
			}
		})
	}
}

// TestOutageWindows reads every second of a plan with two outages.
func TestOutageWindows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // The windows count from New.
		f := faults.New(faults.Plan{Read: faults.Mix{Outages: []faults.Window{
			{From: 2 * time.Second, To: 4 * time.Second},
			{From: 5 * time.Second, To: 6 * time.Second},
		}}})
		store := faults.Rows(f, contract.NewRows())
		for second, want := range []bool{false, false, true, true, false, true, false} {
			_, err := store.Read(t.Context(), "k")
			if got := errors.Is(err, faults.ErrDown) && errors.Is(err, backends.ErrRefused); got != want {
				t.Errorf("second %v: got %v, want it down: %v", second, err, want)
			}
			if _, err := store.Missing(t.Context(), "k", contract.Record{}); err != nil {
				t.Errorf("second %v: got %v from an operation without outages", second, err)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestWithLatencyTheContractIsKept runs the contract while every answer takes its time.
func TestWithLatencyTheContractIsKept(t *testing.T) {
	t.Parallel()
	mix := faults.Mix{Latency: faults.Latency{Max: 5 * time.Millisecond}}
	plan := faults.Plan{Read: mix, List: mix, Missing: mix, Commit: mix, Project: mix, Put: mix, Clear: mix}
	for name, subject := range map[string]func(*faults.Faults) contract.Subject{"view": viewSubject, "rows": rowSubject} {
		for _, check := range contract.Checks() {
			t.Run(name+"/"+check.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					if err := check.Run(t.Context(), subject(faults.New(plan))); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
