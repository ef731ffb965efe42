// Package memory keeps records and their views in memory, for tests, demonstrations and models of other stores.
//
// [Store] has a view of one object per record, [RowStore] a view of one row per entry. They keep the whole contract
// of the backends package, and nothing else: no faults (the faults package wraps them) and no durability.
//
// # Concurrency
//
// Every method may be called by any number of goroutines. Each is one atomic step, which blocks only for the
// short steps of others; a listing copies the keys in one such step and yields them without a lock. No lock is held
// while a function of the user's runs, so it may use the store itself; one that panics leaves the store as it was.
//
// # Sharing
//
// Bodies, views and rows are handed out as they were handed in, without a copy, and to several callers at once: they
// share memory. Treat them as immutable: a step makes new slices and maps and never appends in place.
//
// # Fences
//
// All keys of a store draw their fences from one counter, so that a key which is deleted and created again never
// meets an old fence.
//
// # Failures
//
// Errors are [*backends.Error]s. A write is refused as a conflict if the record is no longer the one that was read; a
// context that has ended before a call answers [backends.ErrUnknown], and nothing was done.
package memory

import (
	"context"

	"github.com/goferry/goferry/backends"
)

var _ backends.ViewStore[string, int] = (*Store[string, int, int])(nil)

// Store keeps records with bodies B, and for each key the view V of its record as it was last projected.
// Make one with [New].
type Store[K comparable, B, V any] struct {
	table[K, B]
	view  func(B) V
	views map[K]V // guarded by table.mu
}

// New makes an empty store: New[string](view). view makes the view of a body: it must be pure, and may be called
// for a projection that is then refused. New panics if view is nil.
func New[K comparable, B, V any](view func(body B) V) *Store[K, B, V] {
	if view == nil {
		panic("memory: New: view is nil")
	}
	return &Store[K, B, V]{table: newTable[K, B](), view: view, views: map[K]V{}}
}

// Project writes the view of record and clears its marker, in one step, if the store still holds record.
func (s *Store[K, B, V]) Project(ctx context.Context, key K, record backends.Record[B]) error {
	view := s.view(record.Body)
	return s.rewrite(ctx, "project", key, record, func(held backends.Record[B]) {
		s.put(key, held.Body, false)
		s.views[key] = view
	})
}

// View answers the view of key, and whether there is one: not before the first projection of its record.
func (s *Store[K, B, V]) View(ctx context.Context, key K) (V, bool, error) {
	if err := backends.Ended(ctx, "view", key); err != nil {
		var none V
		return none, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	view, ok := s.views[key]
	return view, ok, nil
}

// Delete removes the record of key and its view, in one step, if the store still holds the record that was read.
// There must be one: the zero record is a conflict.
func (s *Store[K, B, V]) Delete(ctx context.Context, key K, read backends.Record[B]) error {
	return s.rewrite(ctx, "delete", key, read, func(backends.Record[B]) {
		s.drop(key)
		delete(s.views, key)
	})
}
