package peer

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"github.com/goferry/goferry/ferry"
)

// ferried is goferry as it would be run: with its default bounds and with an observer.
type ferried struct {
	*ferry.Ferry[string, Entry, Entry]
	batches atomic.Int64
}

func newFerry(call Call, inFlight int) Carrier {
	f := &ferried{}
	if inFlight == 0 {
		inFlight = -1 // 0 would be the default of 64, which the peers do not have.
	}
	cfg := ferry.Config{
		MaxBatch:    maxBatch,
		MaxInFlight: inFlight,
		Observer: ferry.Observer{BatchEnded: func(context.Context, ferry.Batch, error) {
			f.batches.Add(1)
		}},
	}
	f.Ferry = ferry.PerKey(cfg, func(e Entry) string { return e.Key }, call)
	return f
}

func (f *ferried) Close() {
	// Nobody submits any more, so there is nothing to give up and no error.
	_ = f.Ferry.Close(context.Background())
}

// spread is a number of ferries, each with its share of the keys. They share no bound, and no lock.
type spread struct {
	seed maphash.Seed
	all  []Carrier
}

// NewSpread opens n ferries, to see what the lock costs that one ferry has for all of its keys.
func NewSpread(n int) func(Call, int) Carrier {
	return func(call Call, inFlight int) Carrier {
		s := &spread{seed: maphash.MakeSeed()}
		for range n {
			s.all = append(s.all, newFerry(call, inFlight))
		}
		return s
	}
}

func (s *spread) Submit(ctx context.Context, in Entry) (Entry, error) {
	return s.all[maphash.String(s.seed, in.Key)%uint64(len(s.all))].Submit(ctx, in)
}

func (s *spread) Close() {
	for _, c := range s.all {
		c.Close()
	}
}
