package peer

import (
	"context"
	"sync"
)

// mutexes is what most people write first: a lock per key, held during the call. It does not batch, and its
// callers cannot leave while they wait.
type mutexes struct {
	call Call
	keys perKey[lock]
}

type lock struct {
	mu    sync.Mutex
	batch [1]Entry // guarded by mu; spares an allocation per call
}

func newMutexes(call Call) Carrier {
	return &mutexes{call: call, keys: perKey[lock]{new: func(string) *lock { return &lock{} }}}
}

func (m *mutexes) Submit(ctx context.Context, in Entry) (Entry, error) {
	l := m.keys.of(in.Key)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batch[0] = in
	outs, err := m.call(ctx, in.Key, l.batch[:])
	if err != nil {
		return Entry{}, err
	}
	return outs[0], nil
}

func (m *mutexes) Close() {}
