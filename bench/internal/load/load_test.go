package load_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/peer"
)

// In virtual time nothing but the store and the thinking takes any, so the figures are known.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &load.Store{Cost: time.Millisecond}
		direct := func(ctx context.Context, in peer.Entry) (peer.Entry, error) {
			outs, err := store.Call(ctx, in.Key, []peer.Entry{in})
			return outs[0], err
		}
		keys := load.One([]string{"a", "b"})
		// Half a millisecond of warming up, so that no answer falls on an end of the window.
		w := load.Window{Warm: 500 * time.Microsecond, Measure: 100 * time.Millisecond}
		results, total, err := load.Run(store.Count, direct, w,
			load.Group{Callers: 2, Key: keys},
			load.Group{Callers: 1, Key: keys, Think: 4 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		hot, cold := results[0], results[1]
		if hot.PerSecond != 2000 || cold.PerSecond != 200 {
			t.Errorf("got %v and %v per second, want 2000 and 200", hot.PerSecond, cold.PerSecond)
		}
		if hot.P50 != time.Millisecond || hot.P99 != time.Millisecond || hot.Max != time.Millisecond {
			t.Errorf("got the times %v, %v and %v, want 1ms", hot.P50, hot.P99, hot.Max)
		}
		if cold.Think != 4*time.Millisecond {
			t.Errorf("got a think time of %v, want 4ms", cold.Think)
		}
		if total.Calls != 220 || total.Batch() != 1 || total.Cost() != time.Millisecond {
			t.Errorf("got %d calls of %v with %v entries, want 220 of 1ms with 1", total.Calls, total.Cost(), total.Batch())
		}
	})
}

// What is still out at the end of the window counts, with the time that it took.
func TestRunWaitsForThoseWhoAreOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(_ context.Context, in peer.Entry) (peer.Entry, error) {
			time.Sleep(time.Second)
			return in.Answer(), nil
		}
		w := load.Window{Measure: 10 * time.Millisecond}
		results, _, err := load.Run((&load.Store{}).Count, slow, w, load.Group{Callers: 1, Key: load.One([]string{"a"})})
		if err != nil {
			t.Fatal(err)
		}
		if got := results[0]; got.PerSecond != 0 || got.Max != time.Second {
			t.Errorf("got %v per second and at most %v, want 0 and 1s", got.PerSecond, got.Max)
		}
	})
}

func TestRunEndsWithAWrongAnswer(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	tests := []struct {
		name, want string
		submit     load.Submit
	}{
		{"wrong", "was answered as", func(_ context.Context, in peer.Entry) (peer.Entry, error) { return in, nil }},
		{"failed", "refused", func(context.Context, peer.Entry) (peer.Entry, error) { return peer.Entry{}, refused }},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			_, _, err := load.Run((&load.Store{}).Count, tt.submit, load.Window{Measure: time.Millisecond}, load.Group{Callers: 3, Key: load.One([]string{"a"})})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
			}
		})
	}
}

func TestDraws(t *testing.T) {
	t.Parallel()
	keys := load.Keys(100)
	share := func(d load.Draws) float64 {
		n := 0
		for i := range d {
			if d.At(7, i) == keys[0] {
				n++
			}
		}
		return float64(n) / float64(len(d))
	}
	// The first of 100 keys has one in a hundred of even draws; of Zipf's, 1 to the sum of n^-1.2.
	if got := share(load.Uniform(keys)); got < 0.009 || got > 0.011 {
		t.Errorf("uniform: got a share of %v, want 0.01", got)
	}
	if got := share(load.Zipf(keys)); got < 0.26 || got > 0.29 {
		t.Errorf("Zipf: got a share of %v, want 0.277", got)
	}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	var order []int
	got, err := load.Turns(2, 3, func(i int) (int, error) {
		order = append(order, i)
		return len(order), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 1, 2, 1, 2, 0} {
		if order[i] != want {
			t.Fatalf("got the order %v", order)
		}
	}
	if ratio := load.Ratio(got[0], got[1], func(n int) float64 { return float64(n) }); ratio != 1.5 {
		t.Errorf("got the ratio %v of %v to %v, want the median of 1/2 and 6/4", ratio, got[0], got[1])
	}
	if middle := load.Median([]int{5, 1, 3}, func(n int) int { return n }); middle != 3 {
		t.Errorf("got the median %v, want 3", middle)
	}
}
