package memory

import (
	"context"
	"iter"
	"slices"

	"github.com/goferry/goferry/backends"
)

var _ backends.RowStore[string, int, string, int] = (*RowStore[string, int, string, int])(nil)

// RowStore keeps records with bodies B, and for each key the rows of its view by their identities.
// Make one with [NewRows].
type RowStore[K comparable, B any, ID comparable, Row any] struct {
	table[K, B]
	of    func(B) iter.Seq2[ID, Row]
	id    func(Row) ID
	views map[K]*rows[ID, Row] // guarded by table.mu
}

// rows is the view of one key.
type rows[ID comparable, Row any] struct {
	present map[ID]bool
	inOrder []Row // of their first insertion
}

// NewRows makes an empty store: NewRows[string](of, id). of yields the entries of a body that have a row, and id
// answers the entry that a row belongs to. Both must be pure. NewRows panics if one is nil, and names it.
func NewRows[K comparable, B any, ID comparable, Row any](of func(body B) iter.Seq2[ID, Row], id func(row Row) ID) *RowStore[K, B, ID, Row] {
	switch {
	case of == nil:
		panic("memory: NewRows: of is nil")
	case id == nil:
		panic("memory: NewRows: id is nil")
	}
	return &RowStore[K, B, ID, Row]{table: newTable[K, B](), of: of, id: id, views: map[K]*rows[ID, Row]{}}
}

// Missing answers which entries of record have no row, in the order in which the record yields them.
func (s *RowStore[K, B, ID, Row]) Missing(ctx context.Context, key K, record backends.Record[B]) ([]ID, error) {
	if err := backends.Ended(ctx, "missing", key); err != nil {
		return nil, err
	}
	var ids []ID
	for id := range s.of(record.Body) {
		ids = append(ids, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if view := s.views[key]; view != nil {
		ids = slices.DeleteFunc(ids, func(id ID) bool { return view.present[id] })
	}
	return ids, nil
}

// Put writes each of added unless the view has a row of its identity already, all in one step. It answers one error
// per row, all nil unless the context had ended.
func (s *RowStore[K, B, ID, Row]) Put(ctx context.Context, key K, added []Row) []error {
	errs := make([]error, len(added))
	if err := backends.Ended(ctx, "put", key); err != nil {
		return slices.Repeat([]error{err}, len(added))
	}
	ids := make([]ID, len(added))
	for i, row := range added {
		ids[i] = s.id(row)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	view := s.views[key]
	if view == nil {
		view = &rows[ID, Row]{present: map[ID]bool{}}
		s.views[key] = view
	}
	for i, id := range ids {
		if !view.present[id] {
			view.present[id] = true
			view.inOrder = append(view.inOrder, added[i])
		}
	}
	return errs
}

// Clear clears the marker of record if the store still holds record.
func (s *RowStore[K, B, ID, Row]) Clear(ctx context.Context, key K, record backends.Record[B]) error {
	return s.rewrite(ctx, "clear", key, record, func(held backends.Record[B]) {
		s.put(key, held.Body, false)
	})
}

// Rows answers the rows of key in the order of their first insertion.
func (s *RowStore[K, B, ID, Row]) Rows(ctx context.Context, key K) ([]Row, error) {
	if err := backends.Ended(ctx, "rows", key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if view := s.views[key]; view != nil {
		return slices.Clone(view.inOrder), nil
	}
	return nil, nil
}

// Delete removes the record of key and its rows, in one step, if the store still holds the record that was read.
// There must be one: the zero record is a conflict. Rows that a projection of the record puts afterwards stay.
func (s *RowStore[K, B, ID, Row]) Delete(ctx context.Context, key K, read backends.Record[B]) error {
	return s.rewrite(ctx, "delete", key, read, func(backends.Record[B]) {
		s.drop(key)
		delete(s.views, key)
	})
}
