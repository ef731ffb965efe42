package load

import (
	"math"
	"testing"
	"time"
)

// Every time is in a bucket that ends at it or a little above.
func TestBuckets(t *testing.T) {
	t.Parallel()
	times := []time.Duration{-1, math.MaxInt64}
	for d := time.Duration(1); d < 10*time.Minute; d += max(1, d/50) {
		times = append(times, d-1, d)
	}
	for _, d := range times {
		end := endOf(bucketOf(d))
		if above := end - d; d >= 0 && d < time.Hour && (above < 0 || above > d/bucketsPerPower) {
			t.Errorf("got a bucket that ends at %d for %d", end, d)
		}
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var a, b, all histogram
	for i := range 1000 {
		h := &a
		if i%2 == 0 {
			h = &b
		}
		h.record(time.Duration(i) * time.Microsecond)
	}
	all.add(&a)
	all.add(&b)
	tests := []struct {
		q    float64
		want time.Duration
	}{
		{0, 0}, {0.5, 500 * time.Microsecond}, {0.99, 990 * time.Microsecond}, {1, 999 * time.Microsecond},
	}
	for _, tt := range tests {
		if got := all.quantile(tt.q); got < tt.want || got > tt.want+tt.want/bucketsPerPower {
			t.Errorf("got %v as quantile %v, want %v", got, tt.q, tt.want)
		}
	}
	if all.max != 999*time.Microsecond {
		t.Errorf("got the maximum %v, want 999µs", all.max)
	}
}
