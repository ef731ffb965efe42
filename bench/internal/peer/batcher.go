package peer

import (
	"context"
	"reflect"

	"gocloud.dev/pubsub/batcher"
)

// batchers is a batcher of gocloud.dev per key, with one handler.
type batchers struct {
	keys perKey[batcher.Batcher]
}

func newBatchers(call Call) Carrier {
	return &batchers{keys: perKey[batcher.Batcher]{new: func(string) *batcher.Batcher {
		return batcher.New(reflect.TypeFor[*request](), &batcher.Options{MaxHandlers: 1, MaxBatchSize: maxBatch},
			func(items any) error { return carry(call, items.([]*request)) })
	}}}
}

func (b *batchers) Submit(ctx context.Context, in Entry) (Entry, error) {
	r := &request{in: in} // The batcher has a channel of its own.
	if err := b.keys.of(in.Key).Add(ctx, r); err != nil {
		return Entry{}, err
	}
	return r.out, nil
}

func (b *batchers) Close() {
	for _, one := range b.keys.all.Range {
		one.(*batcher.Batcher).Shutdown()
	}
}
