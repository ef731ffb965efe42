package main

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/projected"
)

// meter counts what the clients are told and what the batches carry.
type meter struct {
	mu      sync.Mutex
	ticks   []tick               // guarded by mu; the last is the one that is counted in
	current map[string]time.Time // guarded by mu; when an account's view was last known to be whole
}

// tick is what happened between two samples.
type tick struct {
	projected, committed, failed int
	took                         []time.Duration
	sizes                        sizes
}

// sizes counts batches by their size: 1, 2, 3 to 4, 5 to 8, and so on up to more than 128.
type sizes [9]int

func (s *sizes) add(size int) { s[min(bits.Len(uint(size-1)), len(s)-1)]++ }

// now is the tick that is counted in. m.mu is held.
func (m *meter) now() *tick {
	if len(m.ticks) == 0 {
		m.ticks = append(m.ticks, tick{})
	}
	return &m.ticks[len(m.ticks)-1]
}

func (m *meter) observer() ferry.Observer {
	return ferry.Observer{BatchEnded: func(_ context.Context, b ferry.Batch, _ error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.now().sizes.add(b.Size)
	}}
}

// failed counts a try that a client makes again.
func (m *meter) failed(error, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now().failed++
}

func (m *meter) answered(account string, status projected.Status, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	now.took = append(now.took, took)
	if status == projected.Projected {
		now.projected++
		m.isCurrent(account)
	} else {
		now.committed++
	}
}

// visited is told of the sweeper's visits.
func (m *meter) visited(account string, left projected.Projection[string], err error) {
	if err == nil && len(left) == 0 {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.isCurrent(account)
	}
}

// isCurrent notes that the view of account was whole a moment ago. m.mu is held.
func (m *meter) isCurrent(account string) {
	if m.current == nil {
		m.current = map[string]time.Time{}
	}
	m.current[account] = time.Now()
}

// lastCurrent answers when the view of account was last known to be whole, and since if it was not since then.
func (m *meter) lastCurrent(account string, since time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if current := m.current[account]; current.After(since) {
		return current
	}
	return since
}

// next ends a tick and begins another. It answers the one that ended, and the recent ones together with it.
func (m *meter) next() (ended, recent tick) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ended = *m.now()
	for _, t := range m.ticks {
		recent.took = append(recent.took, t.took...)
		for i, n := range t.sizes {
			recent.sizes[i] += n
		}
	}
	m.ticks = append(m.ticks, tick{})
	m.ticks = m.ticks[max(len(m.ticks)-recentTicks, 0):]
	slices.Sort(recent.took)
	return ended, recent
}

// percentile answers how long p percent of the answers took at most, in milliseconds. t.took is sorted.
func (t tick) percentile(p int) float64 {
	if len(t.took) == 0 {
		return 0
	}
	return milliseconds(t.took[(len(t.took)-1)*p/100])
}
