package peer

import (
	"context"
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
