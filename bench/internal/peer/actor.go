package peer

import (
	"context"
	"sync"
)

// actors is a goroutine per key with a channel, which carries all that it finds in the channel at once. The goroutines
// stay: nothing says that a key will not come again.
type actors struct {
	keys    perKey[actor]
	running sync.WaitGroup
}

type actor struct {
	inbox chan *request
	begin func()
}

func newActors(call Call) Carrier {
	a := &actors{}
	a.keys.new = func(string) *actor {
		inbox := make(chan *request, maxBatch)
		// Two callers may each make the actor of a new key, and only one is kept: so it begins with its first entry.
		return &actor{inbox, sync.OnceFunc(func() { a.running.Go(func() { act(call, inbox) }) })}
	}
	return a
}

func act(call Call, inbox chan *request) {
	var batch []*request
	for r := range inbox {
		batch = append(batch[:0], r)
		for more := min(len(inbox), maxBatch-1); more > 0; more-- {
			batch = append(batch, <-inbox)
		}
		answer(call, batch)
	}
}

func (a *actors) Submit(ctx context.Context, in Entry) (Entry, error) {
	r, to := newRequest(in), a.keys.of(in.Key)
	to.begin()
	select {
	case to.inbox <- r:
		return r.wait(ctx)
	case <-ctx.Done():
		return Entry{}, ctx.Err()
	}
}

func (a *actors) Close() {
	for _, one := range a.keys.all.Range {
		close(one.(*actor).inbox)
	}
	a.running.Wait()
}
