package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
)

// page is how many keys a listing takes at a time.
const page = 256

// table is the records of a store: all of it but the view.
type table[K comparable, B any] struct {
	db     *DB
	keys   codec.Codec[K, string]
	bodies codec.Codec[B, []byte]
}

func newTable[K comparable, B any](db *DB) table[K, B] {
	return table[K, B]{db: db, keys: codec.Checked(codec.Text[K]()), bodies: codec.JSON[B]()}
}

// Read answers the record of key, the zero record if there is none.
func (t *table[K, B]) Read(ctx context.Context, key K) (backends.Record[B], error) {
	var record backends.Record[B]
	var fence int64
	var body []byte
	found, err := t.lookUp(ctx, "read", selectRecord, key, &fence, &record.Behind, &body)
	if err != nil || !found {
		return backends.Record[B]{}, err
	}
	record.Fence = backends.Fence(fence)
	if record.Body, err = t.bodies.Decode(body); err != nil {
		return backends.Record[B]{}, undecodable("read", key, err)
	}
	return record, nil
}

// Commit stores next's body if the store still holds the record that was read, and answers the record as stored,
// with a new fence. It is behind if next is, or if the record that was read is: a commit clears no marker.
func (t *table[K, B]) Commit(ctx context.Context, key K, read, next backends.Record[B]) (backends.Record[B], error) {
	text, err := t.keys.Encode(key)
	if err != nil {
		return backends.Record[B]{}, refused("commit", key, err)
	}
	body, err := blob(t.bodies, next.Body)
	if err != nil {
		return backends.Record[B]{}, refused("commit", key, err)
	}
	stmt, args := updateRecord, []any{next.Behind, body, text, int64(read.Fence)}
	if read.Fence == 0 {
		stmt, args = insertRecord, []any{text, next.Behind, body}
	}
	var fence int64
	var behind bool
	err = t.db.do(ctx, "commit", key, func(tx *tx) error { return tx.answer(stmt, args, &fence, &behind) })
	if err != nil {
		return backends.Record[B]{}, err
	}
	return backends.Record[B]{Body: next.Body, Fence: backends.Fence(fence), Behind: behind}, nil
}

// PendingKeys lists the keys whose record is behind, page by page. It holds no connection while it yields.
func (t *table[K, B]) PendingKeys(ctx context.Context) iter.Seq2[K, error] {
	return t.list(ctx, selectBehind)
}

// Keys lists the keys that the store holds, page by page. It holds no connection while it yields.
func (t *table[K, B]) Keys(ctx context.Context) iter.Seq2[K, error] { return t.list(ctx, selectKeys) }

// list yields an error for a key that it cannot decode and goes on. A page that it cannot read is the last.
func (t *table[K, B]) list(ctx context.Context, stmt statement) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		var none K
		for from := ""; ; {
			texts, err := query[string](ctx, t.db, "list", nil, stmt, from, page)
			if err != nil {
				yield(none, err)
				return
			}
			for _, text := range texts {
				key, err := t.keys.Decode(text)
				if err != nil {
					key, err = none, undecodable("list", text, err)
				}
				if !yield(key, err) {
					return
				}
			}
			if len(texts) < page {
				return
			}
			from = texts[len(texts)-1] + "\x00" // The next text in the order of the index, whatever has become of the last.
		}
	}
}

// remove is Delete. The highest fence that was ever deleted is kept, and a new record begins above it.
func (t *table[K, B]) remove(ctx context.Context, key K, read backends.Record[B]) error {
	text, err := t.keys.Encode(key)
	if err != nil {
		return refused("delete", key, err)
	}
	fence := int64(read.Fence)
	return t.db.do(ctx, "delete", key, func(tx *tx) error {
		if err := tx.fenced(deleteRecord, text, fence); err != nil {
			return err
		}
		if _, err := tx.changed(raiseDeleted, fence); err != nil {
			return err
		}
		_, err := tx.changed(deleteRows, text)
		return err
	})
}

// lookUp scans the one row of key, if there is one.
func (t *table[K, B]) lookUp(ctx context.Context, op string, stmt statement, key K, to ...any) (found bool, err error) {
	if err := backends.Ended(ctx, op, key); err != nil {
		return false, err
	}
	text, err := t.keys.Encode(key)
	if err != nil {
		return false, refused(op, key, err)
	}
	err = t.db.read[stmt].QueryRowContext(ctx, text).Scan(to...)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	}
	return false, t.db.readFailure(ctx, op, key, err)
}

// query answers the one column of all rows.
func query[T any](ctx context.Context, db *DB, op string, key any, stmt statement, args ...any) ([]T, error) {
	if err := backends.Ended(ctx, op, key); err != nil {
		return nil, err
	}
	rows, err := db.read[stmt].QueryContext(ctx, args...)
	if err != nil {
		return nil, db.readFailure(ctx, op, key, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, db.readFailure(ctx, op, key, err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, db.readFailure(ctx, op, key, err)
	}
	return all, nil
}

// blob encodes a body. A codec may answer nil for an empty one; SQLite would take that for NULL.
func blob[T any](c codec.Codec[T, []byte], v T) ([]byte, error) {
	b, err := c.Encode(v)
	if b == nil {
		b = []byte{}
	}
	return b, err
}

// undecodable is the error of what is in the file and means nothing to this build. It is left as it is.
func undecodable(op string, key any, err error) error {
	return refused(op, key, fmt.Errorf("%w: %w", backends.ErrUndecodable, err))
}
