// Package load drives a carrier with callers who each wait for their answer before they go on.
package load

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goferry/goferry/bench/internal/peer"
)

// Group is a number of callers that behave alike.
type Group struct {
	Callers int
	// Key answers the key of a caller's n-th entry.
	Key func(caller, n int) string
	// Think is how long a caller waits after each answer.
	Think time.Duration
}

// Window is when it is measured: for Measure, after Warm.
type Window struct{ Warm, Measure time.Duration }

// Result is what a group got within the window.
type Result struct {
	PerSecond float64
	// The times include those of the entries that were out when the window ended, which are waited for: to leave
	// them out would be to forget those who waited for longest.
	P50, P99, Max time.Duration
	// Think is how long the callers really thought, on average: sleeping takes longer than asked for.
	Think time.Duration
}

// Total is what the window took of the store and of the memory.
type Total struct {
	Count
	Allocs, Bytes float64 // per entry; the callers themselves allocate nothing
}

// Submit is that of a [peer.Carrier].
type Submit func(context.Context, peer.Entry) (peer.Entry, error)

// Run drives submit with all groups at once, and answers what each of them got. count is the store's. A wrong answer
// is an error.
func Run(count func() Count, submit Submit, w Window, groups ...Group) ([]Result, Total, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	r := &run{submit: submit, fail: cancel}
	callers := make([][]*caller, len(groups))
	for i, g := range groups {
		for id := range g.Callers {
			c := &caller{run: r, Group: g, id: id}
			callers[i] = append(callers[i], c)
			r.running.Go(func() { c.loop(ctx) })
		}
	}
	time.Sleep(w.Warm)
	total, took := r.measure(count, w.Measure)
	r.running.Wait()
	results := make([]Result, len(groups))
	for i := range groups {
		results[i] = summarize(callers[i], took)
	}
	return results, total, context.Cause(ctx)
}

type run struct {
	submit  Submit
	fail    context.CancelCauseFunc
	phase   atomic.Int32
	running sync.WaitGroup
}

// The phases of a run.
const (
	warming = iota
	measuring
	over
)

func (r *run) measure(count func() Count, d time.Duration) (Total, time.Duration) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun, done := time.Now(), count()
	r.phase.Store(measuring)
	time.Sleep(d)
	r.phase.Store(over)
	t, took := Total{Count: count().Since(done)}, time.Since(begun)
	runtime.ReadMemStats(&after)
	entries := float64(max(t.Entries, 1))
	t.Allocs = float64(after.Mallocs-before.Mallocs) / entries
	t.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / entries
	return t, took
}

type caller struct {
	*run
	Group
	id       int
	answered int // within the window
	times    histogram
	thought  time.Duration
	thoughts int
}

// loop has a context of its own, as a request to a server has: callers that all wait for the end of one and the same would
// wait for one another at its lock, and that would be all that is seen of carriers which let their callers leave.
func (c *caller) loop(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	time.Sleep(c.Think * time.Duration(c.id) / time.Duration(c.Callers)) // So that they do not march in step.
	for n := 0; c.phase.Load() != over && ctx.Err() == nil; n++ {
		in := peer.Entry{Key: c.Key(c.id, n), Caller: c.id, N: n}
		begun := time.Now()
		out, err := c.submit(ctx, in)
		c.note(time.Since(begun))
		if err == nil && out != in.Answer() {
			err = fmt.Errorf("entry %d of caller %d for %s was answered as %d of %d for %s", n, c.id, in.Key, out.N, out.Caller, out.Key)
		}
		if err != nil {
			c.fail(err)
			return
		}
		c.think()
	}
}

func (c *caller) note(took time.Duration) {
	switch c.phase.Load() {
	case measuring:
		c.answered++
		c.times.record(took)
	case over:
		c.times.record(took)
	}
}

func (c *caller) think() {
	if c.Think > 0 && c.phase.Load() != over {
		begun := time.Now()
		time.Sleep(c.Think)
		c.thought += time.Since(begun)
		c.thoughts++
	}
}

func summarize(callers []*caller, took time.Duration) Result {
	var (
		times              histogram
		answered, thoughts int
		thought            time.Duration
	)
	for _, c := range callers {
		times.add(&c.times)
		answered += c.answered
		thought, thoughts = thought+c.thought, thoughts+c.thoughts
	}
	return Result{
		PerSecond: float64(answered) / took.Seconds(),
		P50:       times.quantile(0.5),
		P99:       times.quantile(0.99),
		Max:       times.max,
		Think:     thought / time.Duration(max(thoughts, 1)),
	}
}
