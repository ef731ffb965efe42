// Package peer puts ways to take many callers to a store that takes one call per key at a time behind one interface, so
// that they can be measured side by side.
package peer

import (
	"context"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/bulkhead"
)

// Entry is one input. A store answers it with [Entry.Answer].
type Entry struct {
	Key       string
	Caller, N int
	Answered  bool
}

// Answer is what the store says to an entry.
func (e Entry) Answer() Entry {
	e.Answered = true
	return e
}

// Call is the store: it takes a batch of one key, and answers each entry, in order. It may answer in the slice of the
// batch, so that what is counted as allocated is the peer's.
type Call func(ctx context.Context, key string, batch []Entry) ([]Entry, error)

// Carrier takes entries to a Call, never two calls of one key at a time.
type Carrier interface {
	// Submit blocks until in is answered. It may be called by any number of goroutines at once.
	Submit(ctx context.Context, in Entry) (Entry, error)
	// Close lets all goroutines end. Nothing may be submitted any more.
	Close()
}

// Peer is a way to do it.
type Peer struct {
	Name string
	// Open makes a carrier to call, with at most inFlight calls out at once; 0 is without a bound.
	Open func(call Call, inFlight int) Carrier
}

// maxBatch bounds the batches of every peer that batches.
const maxBatch = 256

// All are the peers, and goferry, at their places.
var All = []Peer{
	Mutex:         {"mutex per key", bulkheaded(newMutexes)},
	Goferry:       {"goferry", newFerry},
	Bundler:       {"bundler, delay 0", bulkheaded(newBundlers(0))},
	BundlerLinger: {"bundler, delay 1 ms", bulkheaded(newBundlers(time.Millisecond))},
	Batcher:       {"batcher", bulkheaded(newBatchers)},
	Actor:         {"goroutine per key", bulkheaded(newActors)},
}

// The places in [All]. Ratios are to the first.
const (
	Mutex = iota
	Goferry
	Bundler
	BundlerLinger
	Batcher
	Actor
)

// bulkheaded gives those that have no bound of their own failsafe-go's bulkhead, around the call: a permit
// that is taken before the key's turn has come would be held by somebody who waits.
func bulkheaded(open func(Call) Carrier) func(Call, int) Carrier {
	return func(call Call, inFlight int) Carrier {
		if inFlight == 0 {
			return open(call)
		}
		permits := bulkhead.New[any](uint(inFlight))
		return open(func(ctx context.Context, key string, batch []Entry) ([]Entry, error) {
			if err := permits.AcquirePermit(ctx); err != nil {
				return nil, err
			}
			defer permits.ReleasePermit()
			return call(ctx, key, batch)
		})
	}
}

// perKey keeps one T for each key, for good: none of the peers says when a key's could go.
type perKey[T any] struct {
	all sync.Map // of *T, by string
	new func(key string) *T
}

func (p *perKey[T]) of(key string) *T {
	t, ok := p.all.Load(key)
	if !ok {
		t, _ = p.all.LoadOrStore(key, p.new(key))
	}
	return t.(*T)
}
