package ferry

import (
	"maps"
	"time"
)

// Stats is a moment of a ferry.
type Stats[K comparable] struct {
	// Lanes is the number of keys with something waiting, queued or in flight.
	Lanes int
	// Waiting is the number of callers that wait for room.
	Waiting int
	// Queued is the number of inputs that are accepted and not yet handed to a call, QueuedWeight their weight.
	Queued, QueuedWeight int
	// InFlight is the number of calls that are out, those whose callers have been answered included.
	InFlight int
	// OldestWait is how long the input has been queued that has been for longest.
	OldestWait time.Duration
	// Refused counts the inputs refused so far, by the bound that had no room.
	Refused map[Bound]uint64
	// Hottest are the keys with the most inputs of late, up to ten, the hottest first. They are estimates, from a
	// sample of the batches: the first ones are right when they stand out.
	Hottest []HotKey[K]
}

// HotKey is a key and its share of all inputs, an estimate between 0 and 1.
type HotKey[K comparable] struct {
	Key   K
	Share float64
}

// Stats answers the ferry's state. It looks at every lane, so it is for a poll, not for every request.
func (f *Ferry[K, I, O]) Stats() Stats[K] {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Stats[K]{
		Lanes:        len(f.lanes),
		Waiting:      f.line.len,
		Queued:       f.queued,
		QueuedWeight: f.weight,
		InFlight:     f.inFlight,
		Refused:      maps.Clone(f.refused),
		Hottest:      f.sketch.hottest(10),
	}
	now := f.clock.now()
	for _, l := range f.lanes {
		s.Waiting += l.line.len
		if l.queue.len > 0 {
			s.OldestWait = max(s.OldestWait, now-l.queue.head.since)
		}
	}
	return s
}
