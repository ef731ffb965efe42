package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
)

var _ backends.ViewStore[string, int] = (*Store[string, int, int])(nil)

// Store keeps records with bodies B, and for each key the view V of its record as it was last projected.
// Make one with [New]. It is immutable; a DB may have several, of the same types.
type Store[K comparable, B, V any] struct {
	table[K, B]
	view  func(B) V
	views codec.Codec[V, []byte]
}

// New makes the store of a cluster: New[string](db, view). view makes the view of a body: it must be pure, and may be
// called for a projection that is then refused. Keys are strings or integers, and bodies and views are JSON, unless With
// functions say otherwise. New panics if view is nil.
func New[K comparable, B, V any](db *DB, view func(body B) V) *Store[K, B, V] {
	if view == nil {
		panic("etcd: New: view is nil")
	}
	return &Store[K, B, V]{table: newTable[K, B](db), view: view, views: codec.JSON[V]()}
}

// WithKeys answers a store that keeps keys by c.
func (s *Store[K, B, V]) WithKeys(c codec.Codec[K, string]) *Store[K, B, V] {
	changed := *s
	changed.names = escaped(c)
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
	name, err := s.names.Encode(key)
	if err != nil {
		return refused("project", key, err)
	}
	view, err := s.views.Encode(s.view(record.Body))
	if err == nil {
		err = s.db.fits(len(view) + len(s.db.view(name)))
	}
	if err != nil {
		return refused("project", key, err)
	}
	return s.db.refenced(ctx, "project", key, s.db.record(name), record.Fence,
		clientv3.OpPut(s.db.view(name), string(view)),
		clientv3.OpDelete(s.db.marker(name)))
}

// View answers the view of key, and whether there is one: not before the first projection of its record.
func (s *Store[K, B, V]) View(ctx context.Context, key K) (V, bool, error) {
	var none V
	name, err := s.names.Encode(key)
	if err != nil {
		return none, false, refused("view", key, err)
	}
	answer, err := call(ctx, s.db, "view", key, func(ctx context.Context, kv clientv3.KV) (*clientv3.GetResponse, error) {
		return kv.Get(ctx, s.db.view(name))
	})
	if err != nil || len(answer.Kvs) == 0 {
		return none, false, err
	}
	view, err := s.views.Decode(answer.Kvs[0].Value)
	if err != nil {
		return none, false, undecodable("view", key, err)
	}
	return view, true, nil
}

// Delete removes the record of key and its view, in one transaction, if the store still holds the record that was read.
// There must be one: the zero record is a conflict.
func (s *Store[K, B, V]) Delete(ctx context.Context, key K, read backends.Record[B]) error {
	return s.remove(ctx, key, read)
}
