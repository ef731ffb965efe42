package sqlite

import (
	"context"
	"iter"
	"slices"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
)

var _ backends.RowStore[string, int, string, int] = (*RowStore[string, int, string, int])(nil)

// RowStore keeps records with bodies B, and for each key the rows of its view by their identities.
// Make one with [NewRows]. It is immutable; a DB may have several, of the same types.
type RowStore[K comparable, B any, ID comparable, Row any] struct {
	table[K, B]
	of   func(B) iter.Seq2[ID, Row]
	id   func(Row) ID
	ids  codec.Codec[ID, string]
	rows codec.Codec[Row, []byte]
}

// NewRows makes the store of a file: NewRows[string](db, of, id). of yields the entries of a body that have a row, and id
// answers the entry that a row belongs to. Both must be pure. Keys and identities are strings or integers, and bodies
// and rows are JSON, unless With functions say otherwise. NewRows panics if a function is nil, and names it.
func NewRows[K comparable, B any, ID comparable, Row any](db *DB, of func(body B) iter.Seq2[ID, Row], id func(row Row) ID) *RowStore[K, B, ID, Row] {
	switch {
	case of == nil:
		panic("sqlite: NewRows: of is nil")
	case id == nil:
		panic("sqlite: NewRows: id is nil")
	}
	return &RowStore[K, B, ID, Row]{
		table: newTable[K, B](db), of: of, id: id,
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
	present, err := s.present(ctx, "missing", key)
	if err != nil {
		return nil, err
	}
	var ids []ID
	for id := range s.of(record.Body) {
		text, err := s.ids.Encode(id)
		if err != nil {
			return nil, refused("missing", key, err)
		}
		if !present[text] {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// present answers the identities that have a row.
func (s *RowStore[K, B, ID, Row]) present(ctx context.Context, op string, key K) (map[string]bool, error) {
	text, err := s.keys.Encode(key)
	if err != nil {
		return nil, refused(op, key, err)
	}
	ids, err := query[string](ctx, s.db, op, key, selectIDs, text)
	if err != nil {
		return nil, err
	}
	present := make(map[string]bool, len(ids))
	for _, id := range ids {
		present[id] = true
	}
	return present, nil
}

// Put writes each of added unless the view has a row of its identity already, all in one transaction. It answers one
// error per row. A row that cannot be encoded fails alone; the others are written together or not at all.
func (s *RowStore[K, B, ID, Row]) Put(ctx context.Context, key K, added []Row) []error {
	errs := make([]error, len(added))
	text, err := s.keys.Encode(key)
	if err != nil {
		return slices.Repeat([]error{refused("put", key, err)}, len(added))
	}
	var rows []row
	for i, r := range added {
		encoded, err := s.encode(s.id(r), r)
		if err != nil {
			errs[i] = refused("put", key, err)
			continue
		}
		rows = append(rows, encoded)
	}
	if err := s.db.do(ctx, "put", key, func(tx *tx) error { return tx.insert(text, rows) }); err != nil {
		for i := range errs {
			if errs[i] == nil {
				errs[i] = err
			}
		}
	}
	return errs
}

// Clear clears the marker of record if the store still holds record.
func (s *RowStore[K, B, ID, Row]) Clear(ctx context.Context, key K, record backends.Record[B]) error {
	text, err := s.keys.Encode(key)
	if err != nil {
		return refused("clear", key, err)
	}
	return s.db.do(ctx, "clear", key, func(tx *tx) error {
		return tx.fenced(clearMarker, text, int64(record.Fence))
	})
}

// ProjectRows is a whole projection: it writes the rows that are missing and clears the marker of record, in one transaction,
// if the store still holds record. It is the project function of projected.New, and does for one transaction what
// projected.Rows does for three: a conflict writes no row.
//
// It answers the entries whose row cannot be encoded, and why. The other rows are written then, and the marker stays.
func (s *RowStore[K, B, ID, Row]) ProjectRows(ctx context.Context, key K, record backends.Record[B]) (map[ID]error, error) {
	text, err := s.keys.Encode(key)
	if err != nil {
		return nil, refused("project", key, err)
	}
	rows, left, err := s.absent(ctx, key, record)
	if err != nil {
		return nil, err
	}
	err = s.db.do(ctx, "project", key, func(tx *tx) error {
		if len(left) == 0 {
			if err := tx.fenced(clearMarker, text, int64(record.Fence)); err != nil {
				return err
			}
		}
		return tx.insert(text, rows)
	})
	return left, err
}

// absent answers the rows that the view does not have, and the entries whose row cannot be encoded.
func (s *RowStore[K, B, ID, Row]) absent(ctx context.Context, key K, record backends.Record[B]) ([]row, map[ID]error, error) {
	present, err := s.present(ctx, "project", key)
	if err != nil {
		return nil, nil, err
	}
	var rows []row
	left := map[ID]error{}
	for id, r := range s.of(record.Body) {
		encoded, err := s.encode(id, r)
		switch {
		case present[encoded.id]:
		case err != nil:
			left[id] = refused("project", key, err)
		default:
			rows = append(rows, encoded)
		}
	}
	return rows, left, nil
}

// Rows answers the rows of key in the order of their first insertion.
func (s *RowStore[K, B, ID, Row]) Rows(ctx context.Context, key K) ([]Row, error) {
	text, err := s.keys.Encode(key)
	if err != nil {
		return nil, refused("rows", key, err)
	}
	stored, err := query[[]byte](ctx, s.db, "rows", key, selectRows, text)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, body := range stored {
		r, err := s.rows.Decode(body)
		if err != nil {
			return nil, undecodable("rows", key, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Delete removes the record of key and its rows, in one transaction, if the store still holds the record that was read.
// There must be one: the zero record is a conflict. Rows that a projection of the record puts afterwards stay.
func (s *RowStore[K, B, ID, Row]) Delete(ctx context.Context, key K, read backends.Record[B]) error {
	return s.remove(ctx, key, read)
}

// row is a row as it is stored.
type row struct {
	id   string
	body []byte
}

func (s *RowStore[K, B, ID, Row]) encode(id ID, r Row) (row, error) {
	text, err := s.ids.Encode(id)
	if err != nil {
		return row{}, err
	}
	body, err := blob(s.rows, r)
	return row{id: text, body: body}, err
}

// insert writes the rows that are not there.
func (t *tx) insert(key string, rows []row) error {
	for _, r := range rows {
		if _, err := t.changed(insertRow, key, r.id, r.body); err != nil {
			return err
		}
	}
	return nil
}
