package proxy

import (
	"math/rand/v2"
	"sync/atomic"
)

// Only is a judge of what one side sends, who passes the other's.
func Only(who From, verdict Verdict) func(From) Verdict {
	return func(from From) Verdict {
		if from == who {
			return verdict
		}
		return Pass
	}
}

// Cutter is a judge who passes some pieces between two cuts, at most so many, and counts the cuts.
func Cutter(random *rand.Rand, most int, cuts *atomic.Int64) func(From) Verdict {
	left := 1 + random.IntN(most)
	return func(From) Verdict {
		if left--; left > 0 {
			return Pass
		}
		left = 1 + random.IntN(most)
		cuts.Add(1)
		return Cut
	}
}
