package peer

import (
	"context"
	"time"

	"google.golang.org/api/support/bundler"
)

// bundlers is a bundler of google.golang.org/api per key.
type bundlers struct {
	keys perKey[bundler.Bundler]
}

func newBundlers(delay time.Duration) func(Call) Carrier {
	return func(call Call) Carrier {
		return &bundlers{keys: perKey[bundler.Bundler]{new: func(string) *bundler.Bundler {
			b := bundler.NewBundler((*request)(nil), func(items any) { answer(call, items.([]*request)) })
			b.DelayThreshold = delay
			b.BundleCountThreshold = maxBatch
			return b
		}}}
	}
}

func (b *bundlers) Submit(ctx context.Context, in Entry) (Entry, error) {
	r := newRequest(in)
	if err := b.keys.of(in.Key).Add(r, 1); err != nil {
		return Entry{}, err
	}
	return r.wait(ctx)
}

// Close has nothing to do: a bundler's goroutines and timers end when it has nothing to carry.
func (b *bundlers) Close() {}
