package durable

import (
	"context"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
)

var _ backends.ViewStore[string, int] = (*Store[string, int, int])(nil)

// Store keeps records with bodies B, and for each key the view V of its record as it was last projected.
// The packages of the databases make one, or [New]. It is immutable.
type Store[K comparable, B, V any] struct {
	table[K, B]
	view  func(B) V
	views codec.Codec[V, []byte]
}

// New makes a store on engine: New[string](engine, view). view makes the view of a body: it must be pure, and may be
// called for a projection that is then refused. New panics if engine or view is nil, and names it.
func New[K comparable, B, V any](engine Engine, view func(body B) V) *Store[K, B, V] {
	switch {
	case engine == nil:
		panic("durable: New: engine is nil")
	case view == nil:
		panic("durable: New: view is nil")
	}
	return &Store[K, B, V]{table: newTable[K, B](engine), view: view, views: codec.JSON[V]()}
}

// WithKeys answers a store that keeps keys by c.
func (s *Store[K, B, V]) WithKeys(c codec.Codec[K, string]) *Store[K, B, V] {
	changed := *s
	changed.keys = codec.Checked(c)
	return &changed
}

// WithBodies answers a store that keeps bodies by c.
func (s *Store[K, B, V]) WithBodies(c codec.Codec[B, []byte]) *Store[K, B, V] {
	changed := *s
	changed.bodies = c
	return &changed
}

// WithViews answers a store that keeps views by c.
func (s *Store[K, B, V]) WithViews(c codec.Codec[V, []byte]) *Store[K, B, V] {
	changed := *s
	changed.views = c
	return &changed
}

// Project writes the view of record and clears its marker, in one transaction, if the store still holds record.
func (s *Store[K, B, V]) Project(ctx context.Context, key K, record backends.Record[B]) error {
	view, err := blob(s.views, s.view(record.Body))
	if err != nil {
		return refused("project", key, err)
	}
	return s.fenced(ctx, "project", key, record.Fence, func(text string) error {
		return s.engine.Settle(ctx, text, record.Fence, view, nil)
	})
}

// View answers the view of key, and whether there is one: not before the first projection of its record.
func (s *Store[K, B, V]) View(ctx context.Context, key K) (view V, ok bool, err error) {
	text, err := s.begin(ctx, "view", key)
	if err != nil {
		return view, false, err
	}
	stored, err := s.engine.View(ctx, text)
	if err != nil || stored == nil {
		return view, false, failure(ctx, "view", key, err)
	}
	if view, err = s.views.Decode(stored); err != nil {
		return view, false, undecodable("view", key, err)
	}
	return view, true, nil
}
