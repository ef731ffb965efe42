package demo

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/goferry/goferry/examples/internal/ledger"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// What the hooks of the pipelines count, which are package-level variables as the pipelines are.
var batches, batched, retries atomic.Int64

// CountRetry counts a retry of the store: for schedule.Schedule.Tap.
func CountRetry(error, time.Duration) { retries.Add(1) }

// counts are what the clients were told.
type counts struct {
	mu                                      sync.Mutex
	projected, committed, replayed, retried int
	took                                    []time.Duration
	told                                    map[string]bool
	sent                                    int
}

// note counts an entry that is handed to a client.
func (c *counts) note(ledger.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
}

// client submits entries one after the other, each until it is answered, and one in fifty once more, as a client
// does that has lost its answer.
func (r *run) client(ctx context.Context, number int, entries <-chan ledger.Entry) {
	random := rand.New(rand.NewPCG(r.options.Seed, uint64(number)))
	for entry := range entries {
		for again := true; again && ctx.Err() == nil; again = random.IntN(50) == 0 {
			began := time.Now()
			outcome, err := schedule.Retry(ctx, resubmit.Tap(r.failed), func(ctx context.Context) (Outcome, error) {
				return r.Submit(ctx, entry)
			})
			if err == nil {
				r.answered(entry, outcome, time.Since(began))
			}
		}
		if r.options.Think > 0 {
			_ = schedule.Sleep(ctx, time.Duration(random.Int64N(int64(r.options.Think))))
		}
	}
}

var resubmit = schedule.Exponential(5 * time.Millisecond).Capped(time.Second).Jittered()

func (c *counts) failed(error, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retried++
}

func (c *counts) answered(entry ledger.Entry, outcome Outcome, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		c.told = map[string]bool{}
	}
	c.told[entry.ID] = true
	c.took = append(c.took, took)
	if outcome.Result.Replay {
		c.replayed++
	}
	if outcome.Status == projected.Projected {
		c.projected++
	} else {
		c.committed++
	}
}

func (c *counts) acknowledged() iter.Seq[string] {
	return maps.Keys(c.told)
}

// Sweep is the Run of a sweeper that looks every 50 ms.
func Sweep(s *projected.Sweeper[string, string]) func(context.Context) error {
	s.Every = schedule.Spaced(50 * time.Millisecond)
	s.MaxBackoff = time.Second
	s.OnVisit = func(string, projected.Projection[string], error) { visits.Add(1) }
	return s.Run
}

var visits atomic.Int64

// progress prints a line twice a second, until ctx ends.
func (r *run) progress(ctx context.Context) {
	for schedule.Sleep(ctx, 500*time.Millisecond) == nil {
		r.mu.Lock()
		p, c, f := r.projected, r.committed, r.retried
		r.mu.Unlock()
		r.say("projected %d, committed %d, failed tries %d, sweeper's visits %d", p, c, f, visits.Load())
	}
}

// say prints a line that begins with the time since the start.
func (r *run) say(format string, args ...any) {
	r.println(fmt.Sprintf("%6.1fs  %s", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...)))
}

// println prints one whole line at a time: the clients, the outage and the progress are goroutines of their own.
func (r *run) println(line any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(r.stderr, line)
}

// table prints what the clients were told, and what it cost.
func (r *run) table(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.took)
	mean := 0.0
	if n := batches.Load(); n > 0 {
		mean = float64(batched.Load()) / float64(n)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	fmt.Fprintf(t, "projected\t%d\tcommitted and in the view\n", r.projected)
	fmt.Fprintf(t, "committed\t%d\tcommitted, the view was late\n", r.committed)
	fmt.Fprintf(t, "failed\t%d\ttries that ended in an error, and were submitted again\n", r.retried)
	fmt.Fprintf(t, "replayed\t%d\tanswered as booked before\n", r.replayed)
	fmt.Fprintf(t, "batches\t%d\tof %.1f entries on average\n", batches.Load(), mean)
	fmt.Fprintf(t, "retries\t%d\tof commits and projections\n", retries.Load())
	fmt.Fprintf(t, "sweeps\t%d\tvisits of pending accounts\n", visits.Load())
	fmt.Fprintf(t, "p50, p99\t%v, %v\tfrom submission to answer\n", r.percentile(50), r.percentile(99))
}

func (c *counts) percentile(p int) time.Duration {
	if len(c.took) == 0 {
		return 0
	}
	return c.took[(len(c.took)-1)*p/100].Round(10 * time.Microsecond)
}
