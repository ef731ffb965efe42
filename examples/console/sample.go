package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/schedule"
)

const (
	every       = 500 * time.Millisecond // between two samples
	remembered  = 120                    // samples for a page that is opened later
	recentTicks = 10                     // ticks that percentiles and sizes are of
)

// sample is a moment of the console, as the page gets it. Times are in milliseconds, rates per second.
type sample struct {
	At         int64                  `json:"at"`
	Controls   controls               `json:"controls"`
	Lanes      int                    `json:"lanes"`
	Queued     int                    `json:"queued"`
	InFlight   int                    `json:"inFlight"`
	OldestWait float64                `json:"oldestWait"`
	Hottest    []hot                  `json:"hottest"`
	Refused    map[ferry.Bound]uint64 `json:"refused"` // since the start
	Projected  float64                `json:"projected"`
	Committed  float64                `json:"committed"`
	Failed     float64                `json:"failed"`
	Sizes      sizes                  `json:"sizes"`
	P50        float64                `json:"p50"`
	P90        float64                `json:"p90"`
	P99        float64                `json:"p99"`
	Pending    []behind               `json:"pending"`
	Trouble    string                 `json:"trouble"` // why Pending is not all, or empty
}

// hot is an account and its share of all entries.
type hot struct {
	Account string  `json:"account"`
	Share   float64 `json:"share"`
}

// behind is an account whose record is pending, and how long it has been, in milliseconds, as far as was seen.
type behind struct {
	Account string  `json:"account"`
	For     float64 `json:"for"`
}

// watch takes samples until ctx ends.
func (c *console) watch(ctx context.Context) {
	last := time.Now()
	pending := map[string]time.Time{}
	for ok := true; ok; ok = schedule.Sleep(ctx, every) == nil {
		now := time.Now()
		s := c.sample(now.Sub(last))
		last = now
		pending = c.listPending(ctx, &s, pending)
		c.history.add(s)
	}
}

// sample answers all but what is pending. The rates are those of the time since the last.
func (c *console) sample(since time.Duration) sample {
	stats := c.lanes.Stats()
	ended, recent := c.meter.next()
	// The first sample has hardly any time behind it.
	perSecond := func(n int) float64 { return float64(n) / max(since.Seconds(), every.Seconds()/2) }
	s := sample{
		At:         time.Now().UnixMilli(),
		Controls:   c.controls(),
		Lanes:      stats.Lanes,
		Queued:     stats.Queued,
		InFlight:   stats.InFlight,
		OldestWait: milliseconds(stats.OldestWait),
		Refused:    map[ferry.Bound]uint64{ferry.MaxQueued: stats.Refused[ferry.MaxQueued], ferry.MaxQueuedPerKey: stats.Refused[ferry.MaxQueuedPerKey]},
		Projected:  perSecond(ended.projected),
		Committed:  perSecond(ended.committed),
		Failed:     perSecond(ended.failed),
		Sizes:      recent.sizes,
		P50:        recent.percentile(50),
		P90:        recent.percentile(90),
		P99:        recent.percentile(99),
	}
	for _, h := range stats.Hottest {
		s.Hottest = append(s.Hottest, hot{h.Key, h.Share})
	}
	return s
}

// listPending lists in s what is pending, given since when those were that were pending before, and answers the like.
func (c *console) listPending(ctx context.Context, s *sample, before map[string]time.Time) map[string]time.Time {
	pending := map[string]time.Time{}
	for account, err := range c.disk.PendingKeys(ctx) {
		if err != nil {
			s.Trouble = "The pending records could not be listed."
			continue
		}
		since, was := before[account]
		if !was {
			since = time.Now()
		}
		pending[account] = c.meter.lastCurrent(account, since)
	}
	for account, since := range pending {
		s.Pending = append(s.Pending, behind{account, milliseconds(time.Since(since))})
	}
	slices.SortFunc(s.Pending, func(a, b behind) int {
		return cmp.Or(cmp.Compare(b.For, a.For), cmp.Compare(a.Account, b.Account))
	})
	return pending
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// history is the latest samples, for any number of readers at their own pace.
type history struct {
	mu      sync.Mutex
	samples []sample      // guarded by mu
	changed chan struct{} // guarded by mu; closed with the next sample
}

func newHistory() *history { return &history{changed: make(chan struct{})} }

func (h *history) add(s sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples = append(h.samples, s)
	h.samples = h.samples[max(len(h.samples)-remembered, 0):]
	close(h.changed)
	h.changed = make(chan struct{})
}

// after answers the samples that were taken after at, and a channel that is closed when there are more.
func (h *history) after(at int64) ([]sample, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := slices.IndexFunc(h.samples, func(s sample) bool { return s.At > at })
	if first < 0 {
		return nil, h.changed
	}
	return slices.Clone(h.samples[first:]), h.changed
}
