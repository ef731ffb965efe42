package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/durable"
)

// Store keeps records with bodies B, and for each key the view V of its record as it was last projected.
type Store[K comparable, B, V any] = durable.Store[K, B, V]

// RowStore keeps records with bodies B, and for each key the rows of its view by their identities.
type RowStore[K comparable, B any, ID comparable, Row any] = durable.RowStore[K, B, ID, Row]

// New makes the store of a file: New[string](db, view). view makes the view of a body: it must be pure, and may be
// called for a projection that is then refused. New panics if db or view is nil, and names it.
func New[K comparable, B, V any](db *DB, view func(body B) V) *Store[K, B, V] {
	return durable.New[K](engineOf(db), view)
}

// NewRows makes the store of a file: NewRows[string](db, of, id). of yields the entries of a body that have a row,
// and id answers the entry that a row belongs to. Both must be pure. NewRows panics if an argument is nil, and names
// it.
func NewRows[K comparable, B any, ID comparable, Row any](db *DB, of func(body B) iter.Seq2[ID, Row], id func(row Row) ID) *RowStore[K, B, ID, Row] {
	return durable.NewRows[K](engineOf(db), of, id)
}

// engine is a DB as the stores see it.
type engine struct{ *DB }

var _ durable.Engine = engine{}

func engineOf(db *DB) durable.Engine {
	if db == nil {
		return nil
	}
	return engine{db}
}

func (e engine) Read(ctx context.Context, key string) (durable.StoredRecord, error) {
	var record durable.StoredRecord
	var fence int64
	err := e.read[selectRecord].QueryRowContext(ctx, key).Scan(&fence, &record.Behind, &record.Body)
	record.Fence = backends.Fence(fence)
	return record, e.unlessAbsent(err)
}

func (e engine) Commit(ctx context.Context, key string, fence backends.Fence, next durable.StoredRecord) (durable.StoredRecord, error) {
	stmt, args := updateRecord, []any{next.Behind, next.Body, key, int64(fence)}
	if fence == 0 {
		stmt, args = insertRecord, []any{key, next.Behind, next.Body}
	}
	var stored int64
	if err := e.do(ctx, func(tx *tx) error { return tx.answer(stmt, args, &stored, &next.Behind) }); err != nil {
		return durable.StoredRecord{}, err // A write whose caller left may still be under way, and set both.
	}
	next.Fence = backends.Fence(stored)
	return next, nil
}

func (e engine) Settle(ctx context.Context, key string, fence backends.Fence, view []byte, rows []durable.StoredRow) error {
	stmt, args := clearMarker, []any{key, int64(fence)}
	if view != nil {
		stmt, args = projectView, []any{view, key, int64(fence)}
	}
	return e.do(ctx, func(tx *tx) error {
		if err := tx.fenced(stmt, args...); err != nil {
			return err
		}
		return tx.insert(key, rows)
	})
}

func (e engine) Put(ctx context.Context, key string, rows []durable.StoredRow) error {
	return e.do(ctx, func(tx *tx) error { return tx.insert(key, rows) })
}

// Delete keeps the highest fence that was ever deleted, above which a new record begins.
func (e engine) Delete(ctx context.Context, key string, fence backends.Fence) error {
	return e.do(ctx, func(tx *tx) error {
		if err := tx.fenced(deleteRecord, key, int64(fence)); err != nil {
			return err
		}
		if _, err := tx.changed(raiseDeleted, int64(fence)); err != nil {
			return err
		}
		_, err := tx.changed(deleteRows, key)
		return err
	})
}

func (e engine) View(ctx context.Context, key string) ([]byte, error) {
	var view []byte
	err := e.read[selectView].QueryRowContext(ctx, key).Scan(&view)
	switch {
	case err != nil:
		return nil, e.unlessAbsent(err)
	case view == nil:
		view = []byte{} // The driver's empty blob.
	}
	return view, nil
}

func (e engine) Present(ctx context.Context, key string, ids []string) ([]string, error) {
	var present []string
	for chunk := range slices.Chunk(ids, presentAtOnce) {
		args := make([]any, 1+presentAtOnce)
		args[0] = key
		for i := range presentAtOnce {
			args[1+i] = chunk[min(i, len(chunk)-1)] // The last again, to fill the statement.
		}
		found, err := column[string](ctx, e, selectPresent, args...)
		if err != nil {
			return nil, err
		}
		present = append(present, found...)
	}
	return present, nil
}

func (e engine) Rows(ctx context.Context, key string) ([][]byte, error) {
	return column[[]byte](ctx, e, selectRows, key)
}

// page is how many keys a listing takes at a time.
const page = 256

func (e engine) List(ctx context.Context, behind bool, from string) (keys []string, next string, err error) {
	stmt := selectKeys
	if behind {
		stmt = selectBehind
	}
	keys, err = column[string](ctx, e, stmt, from, page)
	if len(keys) == page {
		next = keys[page-1] + "\x00" // The next text in the order of the index, whatever becomes of the last.
	}
	return keys, next, err
}

// column answers the one column of all rows.
func column[T any](ctx context.Context, e engine, stmt statement, args ...any) ([]T, error) {
	rows, err := e.read[stmt].QueryContext(ctx, args...)
	if err != nil {
		return nil, e.readFailure(err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, e.readFailure(err)
		}
		all = append(all, v)
	}
	return all, e.readFailure(rows.Err())
}

// readFailure is failure for a read, which a Close may have overtaken.
func (e engine) readFailure(err error) error {
	if err != nil && e.closed.Load() {
		err = ErrClosed
	}
	return failure(err)
}

func (e engine) unlessAbsent(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return e.readFailure(err)
}
