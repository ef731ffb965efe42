package etcd

import (
	"context"
	"iter"
	"maps"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

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

// NewRows makes the store of a cluster: NewRows[string](db, of, id). of yields the entries of a body that have a row, and
// id answers the entry that a row belongs to. Both must be pure. Keys and identities are strings or integers, and bodies
// and rows are JSON, unless With functions say otherwise. NewRows panics if a function is nil, and names it.
func NewRows[K comparable, B any, ID comparable, Row any](db *DB, of func(body B) iter.Seq2[ID, Row], id func(row Row) ID) *RowStore[K, B, ID, Row] {
	switch {
	case of == nil:
		panic("etcd: NewRows: of is nil")
	case id == nil:
		panic("etcd: NewRows: id is nil")
	}
	return &RowStore[K, B, ID, Row]{
		table: newTable[K, B](db), of: of, id: id,
		ids: escaped(codec.Text[ID]()), rows: codec.JSON[Row](),
	}
}

// WithKeys answers a store that keeps keys by c.
func (s *RowStore[K, B, ID, Row]) WithKeys(c codec.Codec[K, string]) *RowStore[K, B, ID, Row] {
	changed := *s
	changed.names = escaped(c)
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
	changed.ids = escaped(c)
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
	name, err := s.names.Encode(key)
	if err != nil {
		return nil, refused("missing", key, err)
	}
	var ids []ID
	var names []string
	for id := range s.of(record.Body) {
		text, err := s.ids.Encode(id)
		if err != nil {
			return nil, refused("missing", key, err)
		}
		ids, names = append(ids, id), append(names, s.db.rows(name)+text)
	}
	present, err := s.db.present(ctx, "missing", key, names)
	if err != nil {
		return nil, err
	}
	var missing []ID
	for i, id := range ids {
		if !present[names[i]] {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

// Put writes each of added unless the view has a row of its identity already. It answers one error per row. Rows go to
// the cluster as many to a transaction as fit: those of one transaction are written together or not at all. A row that
// cannot be encoded, or is too large for any request, fails alone.
func (s *RowStore[K, B, ID, Row]) Put(ctx context.Context, key K, added []Row) []error {
	name, err := s.names.Encode(key)
	if err != nil {
		return slices.Repeat([]error{refused("put", key, err)}, len(added))
	}
	errs := make([]error, len(added))
	rows := make([]row, 0, len(added))
	places := map[string][]int{} // In added, by name: a row may be given twice.
	for i, r := range added {
		encoded, err := s.encode(name, s.id(r), r)
		if err != nil {
			errs[i] = refused("put", key, err)
			continue
		}
		if places[encoded.name] = append(places[encoded.name], i); len(places[encoded.name]) == 1 {
			rows = append(rows, encoded)
		}
	}
	for _, chunk := range s.db.chunks(rows) {
		_, err := call(ctx, s.db, "put", key, func(ctx context.Context, kv clientv3.KV) (*clientv3.TxnResponse, error) {
			return kv.Txn(ctx).Then(inserts(chunk)...).Commit()
		})
		for _, r := range chunk {
			for _, i := range places[r.name] {
				errs[i] = err
			}
		}
	}
	return errs
}

// Clear clears the marker of record if the store still holds record.
func (s *RowStore[K, B, ID, Row]) Clear(ctx context.Context, key K, record backends.Record[B]) error {
	name, err := s.names.Encode(key)
	if err != nil {
		return refused("clear", key, err)
	}
	return s.db.refenced(ctx, "clear", key, s.db.record(name), record.Fence, clientv3.OpDelete(s.db.marker(name)))
}

// ProjectRows is a whole projection: it writes the rows that are missing and clears the marker of record. It is the project
// function of projected.New, and does what projected.Rows does in fewer calls.
//
// If record yields up to about 120 rows, they and the clear are one transaction, which does nothing unless the store still holds
// record, and leaves rows that are there as they are. Of more it asks first which are missing. If those are more than fit one
// transaction it makes several, of which the last clears: those before it may have written their rows when a later one fails.
//
// It answers the entries whose row is missing and cannot be encoded or is too large, and why. The other rows are written then, and
// the marker stays.
func (s *RowStore[K, B, ID, Row]) ProjectRows(ctx context.Context, key K, record backends.Record[B]) (map[ID]error, error) {
	name, err := s.names.Encode(key)
	if err != nil {
		return nil, refused("project", key, err)
	}
	if record.Fence == 0 {
		return nil, conflict("project", key)
	}
	rows, left := s.encodeAll(key, name, record)
	chunks := s.db.chunks(rows)
	if len(chunks) > 1 || len(left) > 0 {
		if rows, err = s.absent(ctx, key, name, rows, left); err != nil {
			return nil, err
		}
		chunks = s.db.chunks(rows)
	}
	held, last := s.db.record(name), []row(nil)
	if n := len(chunks); n > 0 && len(left) == 0 {
		chunks, last = chunks[:n-1], chunks[n-1]
	}
	for _, chunk := range chunks {
		if _, err := s.db.fenced(ctx, "project", key, held, record.Fence, inserts(chunk)...); err != nil {
			return nil, err
		}
	}
	if len(left) > 0 {
		return left, nil
	}
	then := append(inserts(last), clientv3.OpDelete(s.db.marker(name)))
	return nil, s.db.refenced(ctx, "project", key, held, record.Fence, then...)
}

// encodeAll answers the rows of record, each once, and the entries whose row cannot be written.
func (s *RowStore[K, B, ID, Row]) encodeAll(key K, name string, record backends.Record[B]) (rows []row, left map[ID]error) {
	left = map[ID]error{}
	seen := map[string]bool{}
	for id, r := range s.of(record.Body) {
		encoded, err := s.encode(name, id, r)
		switch {
		case err != nil:
			left[id] = refused("project", key, err)
		case !seen[encoded.name]:
			seen[encoded.name] = true
			rows = append(rows, encoded)
		}
	}
	return rows, left
}

// absent answers those of rows that are not there, and takes from left the entries that have their row already.
func (s *RowStore[K, B, ID, Row]) absent(ctx context.Context, key K, name string, rows []row, left map[ID]error) ([]row, error) {
	var names []string
	for _, r := range rows {
		names = append(names, r.name)
	}
	unwritable := map[string]ID{}
	for id := range left {
		if text, err := s.ids.Encode(id); err == nil {
			unwritable[s.db.rows(name)+text] = id
		}
	}
	present, err := s.db.present(ctx, "project", key, slices.AppendSeq(names, maps.Keys(unwritable)))
	if err != nil {
		return nil, err
	}
	for name, id := range unwritable {
		if present[name] {
			delete(left, id)
		}
	}
	return slices.DeleteFunc(rows, func(r row) bool { return present[r.name] }), nil
}

// Rows answers the rows of key in the order of their first insertion.
func (s *RowStore[K, B, ID, Row]) Rows(ctx context.Context, key K) ([]Row, error) {
	name, err := s.names.Encode(key)
	if err != nil {
		return nil, refused("rows", key, err)
	}
	var stored []row
	for kv, err := range s.db.scan(ctx, "rows", key, s.db.rows(name)) {
		if err != nil {
			return nil, err
		}
		r, err := rowOf(kv)
		if err != nil {
			return nil, undecodable("rows", key, err)
		}
		stored = append(stored, r)
	}
	slices.SortFunc(stored, row.compare)
	var rows []Row
	for _, r := range stored {
		decoded, err := s.rows.Decode(r.body)
		if err != nil {
			return nil, undecodable("rows", key, err)
		}
		rows = append(rows, decoded)
	}
	return rows, nil
}

// Delete removes the record of key and its rows, in one transaction, if the store still holds the record that was read.
// There must be one: the zero record is a conflict. Rows that a projection of the record puts afterwards stay.
func (s *RowStore[K, B, ID, Row]) Delete(ctx context.Context, key K, read backends.Record[B]) error {
	return s.remove(ctx, key, read)
}

func (s *RowStore[K, B, ID, Row]) encode(name string, id ID, r Row) (row, error) {
	text, err := s.ids.Encode(id)
	if err != nil {
		return row{}, err
	}
	encoded := row{name: s.db.rows(name) + text}
	if encoded.body, err = s.rows.Encode(r); err != nil {
		return encoded, err
	}
	// The clear goes with the last row, and names the record too.
	return encoded, s.db.fits(encoded.size() + 4*len(s.db.rows(name)))
}
