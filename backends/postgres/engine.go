package postgres

import (
	"context"
	"errors"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/durable"
)

// Store keeps records with bodies B, and for each key the view V of its record as it was last projected.
type Store[K comparable, B, V any] = durable.Store[K, B, V]

// RowStore keeps records with bodies B, and for each key the rows of its view by their identities.
type RowStore[K comparable, B any, ID comparable, Row any] = durable.RowStore[K, B, ID, Row]

// New makes the store of a schema: New[string](db, view). view makes the view of a body: it must be pure, and may be
// called for a projection that is then refused. New panics if db or view is nil, and names it.
func New[K comparable, B, V any](db *DB, view func(body B) V) *Store[K, B, V] {
	return durable.New[K](engineOf(db), view)
}

// NewRows makes the store of a schema: NewRows[string](db, of, id). of yields the entries of a body that have a row,
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

// errText is the refusal of what PostgreSQL takes for no text. It would fail a whole group.
var errText = errors.New("postgres: a key or identity is not UTF-8 without NUL")

// check refuses what must not be sent.
func (e engine) check(texts ...string) error {
	if e.closed.Load() {
		return ErrClosed
	}
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return errText
		}
	}
	return nil
}

func (e engine) checkRows(key string, rows []durable.StoredRow) error {
	err := e.check(key)
	for _, r := range rows {
		if err == nil {
			err = e.check(r.ID)
		}
	}
	return err
}

func (e engine) Read(ctx context.Context, key string) (durable.StoredRecord, error) {
	var standby bool
	var fence *int64
	var behind *bool
	var record durable.StoredRecord
	err := e.check(key)
	if err == nil {
		err = e.pool.QueryRow(ctx, e.sql.read, key).Scan(&standby, &fence, &behind, &record.Body)
	}
	if err == nil && standby {
		err = ErrStandby
	}
	if err != nil || fence == nil {
		return durable.StoredRecord{}, failure(ctx, err)
	}
	record.Fence, record.Behind = backends.Fence(*fence), *behind
	return record, nil
}

func (e engine) Commit(ctx context.Context, key string, fence backends.Fence, next durable.StoredRecord) (durable.StoredRecord, error) {
	op := &commitOp{key: key, fence: int64(fence), record: next}
	err := e.check(key)
	switch {
	case err != nil:
	case fence == 0:
		err = e.creates.Do(ctx, op)
	default:
		err = e.updates.Do(ctx, op)
	}
	if err != nil {
		return durable.StoredRecord{}, failure(ctx, err) // op is still the group's.
	}
	return op.record, nil
}

func (e engine) Settle(ctx context.Context, key string, fence backends.Fence, view []byte, rows []durable.StoredRow) error {
	if err := e.checkRows(key, rows); err != nil {
		return failure(ctx, err)
	}
	return failure(ctx, e.settles.Do(ctx, &settleOp{key: key, fence: int64(fence), view: view, rows: rows}))
}

func (e engine) Put(ctx context.Context, key string, rows []durable.StoredRow) error {
	if err := e.checkRows(key, rows); err != nil {
		return failure(ctx, err)
	}
	return failure(ctx, e.puts.Do(ctx, &putOp{key: key, rows: rows}))
}

// Delete goes alone: it is rare.
func (e engine) Delete(ctx context.Context, key string, fence backends.Fence) error {
	if err := e.check(key); err != nil {
		return failure(ctx, err)
	}
	gone := false
	err := e.transact(ctx, e.sql.remove, []any{key, int64(fence)}, func(pgx.Rows) error {
		gone = true
		return nil
	})
	if err == nil && !gone {
		return &backends.Error{Class: backends.ErrConflict}
	}
	return failure(ctx, err)
}

func (e engine) View(ctx context.Context, key string) (view []byte, err error) {
	if err := e.check(key); err != nil {
		return nil, failure(ctx, err)
	}
	err = e.pool.QueryRow(ctx, e.sql.view, key).Scan(&view)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return view, failure(ctx, err)
}

func (e engine) Present(ctx context.Context, key string, ids []string) ([]string, error) {
	if err := e.check(ids...); err != nil {
		return nil, failure(ctx, err)
	}
	return column[string](ctx, e, e.sql.present, key, ids)
}

func (e engine) Rows(ctx context.Context, key string) ([][]byte, error) {
	return column[[]byte](ctx, e, e.sql.rows, key)
}

// page is how many keys a listing takes at a time.
const page = 256

func (e engine) List(ctx context.Context, behind bool, from string) (keys []string, next string, err error) {
	sql := e.sql.keys
	if behind {
		sql = e.sql.behind
	}
	keys, err = column[string](ctx, e, sql, from, page)
	if len(keys) == page {
		next = keys[page-1] + "\x01" // The next text in the order of the index, whatever becomes of the last.
	}
	return keys, next, err
}

// column answers the one column of all rows.
func column[T any](ctx context.Context, e engine, sql string, key string, args ...any) ([]T, error) {
	if err := e.check(key); err != nil {
		return nil, failure(ctx, err)
	}
	rows, err := e.pool.Query(ctx, sql, append([]any{key}, args...)...)
	if err != nil {
		return nil, failure(ctx, err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[T])
	return all, failure(ctx, err)
}
