package load

import (
	"math/bits"
	"time"
)

// histogram counts times in buckets a thirty-second of their value wide. Recording does not allocate, so that it does not show in
// what is measured.
type histogram struct {
	counts [bucketsPerPower * 40]uint32 // up to 18 minutes
	max    time.Duration
}

const bucketsPerPower = 32

func (h *histogram) record(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.max = max(h.max, d)
}

func (h *histogram) add(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.max = max(h.max, other.max)
}

// quantile answers the upper end of the bucket that the q-th of all times is in.
func (h *histogram) quantile(q float64) time.Duration {
	total := 0
	for _, n := range h.counts {
		total += int(n)
	}
	left := int(q * float64(total))
	for i, n := range h.counts {
		if left -= int(n); left < 0 {
			return min(endOf(i), h.max)
		}
	}
	return h.max
}

// bucketOf answers d itself below bucketsPerPower, and above that bucketsPerPower buckets for each power of two.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < bucketsPerPower {
		return int(n)
	}
	power := bits.Len64(n) - bits.Len64(bucketsPerPower)
	bucket := power*bucketsPerPower + int(n>>power)
	return min(bucket, len(histogram{}.counts)-1)
}

// endOf answers the largest time in a bucket.
func endOf(bucket int) time.Duration {
	if bucket < bucketsPerPower {
		return time.Duration(bucket)
	}
	power := bucket/bucketsPerPower - 1
	return time.Duration(bucket-power*bucketsPerPower+1)<<power - 1
}
