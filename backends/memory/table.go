package memory

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/goferry/goferry/backends"
)

var errUnfindable = errors.New("the key is unequal to itself, so no read could find it")

// table is the records of a store: all of it but the view.
type table[K comparable, B any] struct {
	mu      sync.Mutex
	records map[K]backends.Record[B] // guarded by mu
	behind  map[K]struct{}           // guarded by mu; the keys of records that are behind
	fence   backends.Fence           // guarded by mu; the last one given out, to whichever key
}

func newTable[K comparable, B any]() table[K, B] {
	return table[K, B]{records: map[K]backends.Record[B]{}, behind: map[K]struct{}{}}
}

// Read answers the record of key, the zero record if there is none.
func (t *table[K, B]) Read(ctx context.Context, key K) (backends.Record[B], error) {
	if err := backends.Ended(ctx, "read", key); err != nil {
		return backends.Record[B]{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.records[key], nil
}

// Commit stores next's body if the store still holds the record that was read, and answers the record as stored,
// with a new fence. It is behind if next is, or if the record that was read is: a commit clears no marker.
func (t *table[K, B]) Commit(ctx context.Context, key K, read, next backends.Record[B]) (backends.Record[B], error) {
	var stored backends.Record[B]
	err := t.write(ctx, "commit", key, read, func(held backends.Record[B]) {
		stored = t.put(key, next.Body, held.Behind || next.Behind)
	})
	return stored, err
}

// PendingKeys lists the keys whose record is behind at the moment that the listing is ranged over, in no order.
func (t *table[K, B]) PendingKeys(ctx context.Context) iter.Seq2[K, error] {
	return list(ctx, func() []K {
		t.mu.Lock()
		defer t.mu.Unlock()
		return slices.Collect(maps.Keys(t.behind))
	})
}

// Keys lists the keys that the store holds at the moment that the listing is ranged over, in no order.
func (t *table[K, B]) Keys(ctx context.Context) iter.Seq2[K, error] {
	return list(ctx, func() []K {
		t.mu.Lock()
		defer t.mu.Unlock()
		return slices.Collect(maps.Keys(t.records))
	})
}

// list yields a snapshot, so that the caller may do anything to the store meanwhile.
func list[K comparable](ctx context.Context, snapshot func() []K) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		if err := backends.Ended(ctx, "list", nil); err != nil {
			var none K
			yield(none, err)
			return
		}
		for _, key := range snapshot() {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// write is every fenced write: apply runs under the lock if the store still holds the record that was read.
func (t *table[K, B]) write(ctx context.Context, op string, key K, read backends.Record[B], apply func(held backends.Record[B])) error {
	if err := backends.Ended(ctx, op, key); err != nil {
		return err
	}
	if key != key {
		return &backends.Error{Op: op, Key: key, Class: backends.ErrRefused, Err: errUnfindable}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.records[key]
	if held.Fence != read.Fence {
		return conflict(op, key)
	}
	apply(held)
	return nil
}

// rewrite is write for a record that exists: fence 0 stands for a key that the store does not hold.
func (t *table[K, B]) rewrite(ctx context.Context, op string, key K, read backends.Record[B], apply func(held backends.Record[B])) error {
	if read.Fence == 0 {
		return conflict(op, key)
	}
	return t.write(ctx, op, key, read, apply)
}

// put stores a record under the next fence. One counter for all keys: a key that is deleted and created again
// must not meet a fence of its former life.
func (t *table[K, B]) put(key K, body B, behind bool) backends.Record[B] {
	t.fence++
	stored := backends.Record[B]{Body: body, Fence: t.fence, Behind: behind}
	t.records[key] = stored
	if behind {
		t.behind[key] = struct{}{}
	} else {
		delete(t.behind, key)
	}
	return stored
}

func (t *table[K, B]) drop(key K) {
	delete(t.records, key)
	delete(t.behind, key)
}

func conflict(op string, key any) error {
	return &backends.Error{Op: op, Key: key, Class: backends.ErrConflict}
}
