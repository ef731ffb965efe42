package main

import (
	"runtime"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
)

// micro is something that is over too soon to be timed once.
type micro struct {
	name string
	op   func()
}

// timing is what one run of it takes.
type timing struct{ ns, allocs float64 }

func nanoseconds(t timing) float64 { return t.ns }

// time runs m for about d.
func (m micro) time(d time.Duration) timing {
	m.op()
	for n := 1; ; {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begun := time.Now()
		for range n {
			m.op()
		}
		took := time.Since(begun)
		runtime.ReadMemStats(&after)
		if took >= d/2 {
			return timing{float64(took) / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n)}
		}
		n = max(2*n, int(float64(n)*min(100, float64(d)/float64(took+1))))
	}
}

// timeAll runs all of them in turns.
func timeAll(all []micro, s scale) [][]timing {
	// More and shorter rounds than elsewhere: what is timed is quick.
	got, _ := load.Turns(3*s.rounds, len(all), func(i int) (timing, error) { return all[i].time(s.window.Measure / 10), nil })
	return got
}
