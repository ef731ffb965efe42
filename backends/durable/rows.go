package durable

import (
	"context"
	"iter"
	"slices"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
)

var _ backends.RowStore[string, int, string, int] = (*RowStore[string, int, string, int])(nil)

// RowStore keeps records with bodies B, and for each key the rows of its view by their identities.
// The packages of the databases make one, or [NewRows]. It is immutable.
type RowStore[K comparable, B any, ID comparable, Row any] struct {
	table[K, B]
	of   func(B) iter.Seq2[ID, Row]
	id   func(Row) ID
	ids  codec.Codec[ID, string]
	rows codec.Codec[Row, []byte]
}

// NewRows makes a store on engine: NewRows[string](engine, of, id). of yields the entries of a body that have a row,
// and id answers the entry that a row belongs to. Both must be pure. NewRows panics if an argument is nil, and names
// it.
func NewRows[K comparable, B any, ID comparable, Row any](engine Engine, of func(body B) iter.Seq2[ID, Row], id func(row Row) ID) *RowStore[K, B, ID, Row] {
	switch {
	case engine == nil:
		panic("durable: NewRows: engine is nil")
	case of == nil:
		panic("durable: NewRows: of is nil")
	case id == nil:
		panic("durable: NewRows: id is nil")
	}
	return &RowStore[K, B, ID, Row]{
		table: newTable[K, B](engine), of: of, id: id,
		ids: codec.Checked(codec.Text[ID]()), rows: codec.JSON[Row](),
	}
}

// WithKeys answers a store that keeps keys by c.
func (s *RowStore[K, B, ID, Row]) WithKeys(c codec.Codec[K, string]) *RowStore[K, B, ID, Row] {
	changed := *s
	changed.keys = codec.Checked(c)
	return &changed
}

// WithBodies answers a store that keeps bodies by c.
func (s *RowStore[K, B, ID, Row]) WithBodies(c codec.Codec[B, []byte]) *RowStore[K, B, ID, Row] {
	changed := *s
	changed.bodies = c
	return &changed
}

// WithIDs answers a store that keeps the identities of rows by c.
func (s *RowStore[K, B, ID, Row]) WithIDs(c codec.Codec[ID, string]) *RowStore[K, B, ID, Row] {
	changed := *s
	changed.ids = codec.Checked(c)
	return &changed
}

// WithRows answers a store that keeps rows by c.
func (s *RowStore[K, B, ID, Row]) WithRows(c codec.Codec[Row, []byte]) *RowStore[K, B, ID, Row] {
	changed := *s
	changed.rows = c
	return &changed
}

// Missing answers which entries of record have no row, in the order in which the record yields them.
func (s *RowStore[K, B, ID, Row]) Missing(ctx context.Context, key K, record backends.Record[B]) ([]ID, error) {
	var ids []ID
	var texts []string
	for id := range s.of(record.Body) {
		text, err := s.ids.Encode(id)
		if err != nil {
			return nil, refused("missing", key, err)
		}
		ids, texts = append(ids, id), append(texts, text)
	}
	present, err := s.present(ctx, "missing", key, texts)
	if err != nil {
		return nil, err
	}
	var missing []ID
	for i, id := range ids {
		if !present[texts[i]] {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

// present answers which identities have a row. It asks for no others: a view may have any number of rows.
func (s *RowStore[K, B, ID, Row]) present(ctx context.Context, op string, key K, ids []string) (map[string]bool, error) {
	text, err := s.begin(ctx, op, key)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	found, err := s.engine.Present(ctx, text, ids)
	if err != nil {
		return nil, failure(ctx, op, key, err)
	}
	present := make(map[string]bool, len(found))
	for _, id := range found {
		present[id] = true
	}
	return present, nil
}

// Put writes each of added unless the view has a row of its identity already, all in one transaction. It answers one
// error per row. A row that cannot be encoded fails alone; the others are written together or not at all.
func (s *RowStore[K, B, ID, Row]) Put(ctx context.Context, key K, added []Row) []error {
	text, err := s.begin(ctx, "put", key)
	if err != nil {
		return slices.Repeat([]error{err}, len(added))
	}
	errs := make([]error, len(added))
	var rows []StoredRow
	for i, r := range added {
		row, err := s.encode(s.id(r), r)
		if err != nil {
			errs[i] = refused("put", key, err)
			continue
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return errs
	}
	if err := s.engine.Put(ctx, text, rows); err != nil {
		for i := range errs {
			if errs[i] == nil {
				errs[i] = failure(ctx, "put", key, err)
			}
		}
	}
	return errs
}

// Clear clears the marker of record if the store still holds record.
func (s *RowStore[K, B, ID, Row]) Clear(ctx context.Context, key K, record backends.Record[B]) error {
	return s.fenced(ctx, "clear", key, record.Fence, func(text string) error {
		return s.engine.Settle(ctx, text, record.Fence, nil, nil)
	})
}

// ProjectRows is a whole projection: it writes the rows that are missing and clears the marker of record, in one
// transaction, if the store still holds record. It is a project function as projected.New takes it, and does in one
// call what projected.Rows does in three: a conflict writes no row. It does not ask which rows are missing, but sends
// all that record yields; those that are there stay as they are.
//
// It answers the entries whose row is missing and cannot be encoded, and why. The other rows are put then, and the
// marker stays.
func (s *RowStore[K, B, ID, Row]) ProjectRows(ctx context.Context, key K, record backends.Record[B]) (map[ID]error, error) {
	var rows []StoredRow
	left := map[ID]error{}
	for id, r := range s.of(record.Body) {
		row, err := s.encode(id, r)
		if err != nil {
			left[id] = refused("project", key, err)
			continue
		}
		rows = append(rows, row)
	}
	if err := s.forgive(ctx, key, left); err != nil {
		return nil, err
	}
	err := s.fenced(ctx, "project", key, record.Fence, func(text string) error {
		switch {
		case len(left) == 0:
			return s.engine.Settle(ctx, text, record.Fence, nil, rows)
		case len(rows) > 0:
			return s.engine.Put(ctx, text, rows)
		}
		return nil
	})
	return left, err
}

// forgive takes from left the entries that have their row already.
func (s *RowStore[K, B, ID, Row]) forgive(ctx context.Context, key K, left map[ID]error) error {
	var ids []ID
	var texts []string
	for id := range left {
		if text, err := s.ids.Encode(id); err == nil {
			ids, texts = append(ids, id), append(texts, text)
		}
	}
	present, err := s.present(ctx, "project", key, texts)
	for i, id := range ids {
		if present[texts[i]] {
			delete(left, id)
		}
	}
	return err
}

// encode answers a row as it is stored.
func (s *RowStore[K, B, ID, Row]) encode(id ID, r Row) (StoredRow, error) {
	text, err := s.ids.Encode(id)
	if err != nil {
		return StoredRow{}, err
	}
	body, err := blob(s.rows, r)
	return StoredRow{ID: text, Body: body}, err
}

// Rows answers the rows of key in the order of their first insertion.
func (s *RowStore[K, B, ID, Row]) Rows(ctx context.Context, key K) ([]Row, error) {
	text, err := s.begin(ctx, "rows", key)
	if err != nil {
		return nil, err
	}
	stored, err := s.engine.Rows(ctx, text)
	if err != nil {
		return nil, failure(ctx, "rows", key, err)
	}
	var rows []Row
	for _, body := range stored {
		row, err := s.rows.Decode(body)
		if err != nil {
			return nil, undecodable("rows", key, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
