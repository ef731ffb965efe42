package load

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/goferry/goferry/bench/internal/peer"
)

// Store is a store whose calls take Cost, whatever they carry.
type Store struct {
	Cost time.Duration

	calls, entries, spent atomic.Int64
}

// Call is a [peer.Call].
func (s *Store) Call(_ context.Context, _ string, batch []peer.Entry) ([]peer.Entry, error) {
	if s.Cost > 0 {
		// The sleep is longer than asked for, by what the machine's timers are coarse: so it is measured.
		begun := time.Now()
		time.Sleep(s.Cost)
		s.spent.Add(int64(time.Since(begun)))
	}
	for i := range batch {
		batch[i] = batch[i].Answer()
	}
	s.calls.Add(1)
	s.entries.Add(int64(len(batch)))
	return batch, nil
}

// Count is what a store has done.
type Count struct {
	Calls, Entries int64
	Spent          time.Duration
}

// Count answers what the store has done so far.
func (s *Store) Count() Count {
	return Count{s.calls.Load(), s.entries.Load(), time.Duration(s.spent.Load())}
}

// Since answers what has been done since earlier.
func (c Count) Since(earlier Count) Count {
	return Count{c.Calls - earlier.Calls, c.Entries - earlier.Entries, c.Spent - earlier.Spent}
}

// Batch is the mean number of entries per call.
func (c Count) Batch() float64 { return float64(c.Entries) / float64(c.Calls) }

// Cost is the mean time that a call took.
func (c Count) Cost() time.Duration { return c.Spent / time.Duration(max(c.Calls, 1)) }
