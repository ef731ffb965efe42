package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/durable"
)

// commitOp is a commit, and once it is done the record as stored.
type commitOp struct {
	key    string
	fence  int64
	record durable.StoredRecord
}

// settleOp is a projection of a view, of rows, or a clear.
type settleOp struct {
	key   string
	fence int64
	view  []byte
	rows  []durable.StoredRow
}

// putOp is a put of rows.
type putOp struct {
	key  string
	rows []durable.StoredRow
}

func (d *DB) create(ctx context.Context, batch []*commitOp) []error {
	return together(ctx, d, batch, func(ctx context.Context, ops []*commitOp, errs []error) error {
		first := map[string]int{} // Who creates a key: only the first of several can.
		var keys []string
		var behind []bool
		var bodies [][]byte
		for i, op := range ops {
			if _, taken := first[op.key]; !taken {
				first[op.key] = i
			}
			keys, behind, bodies = append(keys, op.key), append(behind, op.record.Behind), append(bodies, op.record.Body)
		}
		return d.transact(ctx, d.sql.create, []any{keys, behind, bodies}, func(rows pgx.Rows) error {
			var key string
			var fence int64
			var behind bool
			if err := rows.Scan(&key, &fence, &behind); err != nil {
				return err
			}
			i := first[key]
			ops[i].record.Fence, ops[i].record.Behind, errs[i] = backends.Fence(fence), behind, nil
			return nil
		})
	})
}

func (d *DB) update(ctx context.Context, batch []*commitOp) []error {
	return together(ctx, d, batch, func(ctx context.Context, ops []*commitOp, errs []error) error {
		var keys []string
		var fences []int64
		var behind []bool
		var bodies [][]byte
		for _, op := range ops {
			keys, fences = append(keys, op.key), append(fences, op.fence)
			behind, bodies = append(behind, op.record.Behind), append(bodies, op.record.Body)
		}
		sql, args := d.sql.update, []any{keys, fences, behind, bodies}
		if len(ops) == 1 {
			sql, args = d.sql.updateOne, []any{keys[0], fences[0], behind[0], bodies[0]}
		}
		return d.transact(ctx, sql, args, func(rows pgx.Rows) error {
			var n, fence int64
			var behind bool
			if err := rows.Scan(&n, &fence, &behind); err != nil {
				return err
			}
			ops[n-1].record.Fence, ops[n-1].record.Behind, errs[n-1] = backends.Fence(fence), behind, nil
			return nil
		})
	})
}

func (d *DB) settle(ctx context.Context, batch []*settleOp) []error {
	return together(ctx, d, batch, func(ctx context.Context, ops []*settleOp, errs []error) error {
		var keys []string
		var fences []int64
		var shows []bool
		var views [][]byte
		var rowOps []int64
		var ids []string
		var bodies [][]byte
		for i, op := range ops {
			keys, fences = append(keys, op.key), append(fences, op.fence)
			shows, views = append(shows, op.view != nil), append(views, op.view)
			for _, r := range op.rows {
				rowOps, ids, bodies = append(rowOps, int64(i+1)), append(ids, r.ID), append(bodies, r.Body)
			}
		}
		sql, args := d.sql.settle, []any{keys, fences, shows, views, rowOps, ids, bodies}
		if len(ops) == 1 {
			sql, args = d.sql.settleOne, []any{keys[0], fences[0], shows[0], views[0], ids, bodies}
		}
		return d.transact(ctx, sql, args, func(rows pgx.Rows) error {
			var n int64
			if err := rows.Scan(&n); err != nil {
				return err
			}
			errs[n-1] = nil
			return nil
		})
	})
}

func (d *DB) put(ctx context.Context, batch []*putOp) []error {
	return together(ctx, d, batch, func(ctx context.Context, ops []*putOp, errs []error) error {
		var keys, ids []string
		var bodies [][]byte
		for _, op := range ops {
			for _, r := range op.rows {
				keys, ids, bodies = append(keys, op.key), append(ids, r.ID), append(bodies, r.Body)
			}
		}
		clear(errs) // A row that is there is a success too.
		return d.transact(ctx, d.sql.put, []any{keys, ids, bodies}, nil)
	})
}

// together runs a batch as one statement, which sets to nil the errors of those that it wrote; the others are
// conflicts. If the server refuses the statement nothing was written, and one of the batch may be at fault: each then
// goes alone, so that no neighbour fails with it.
func together[T any](ctx context.Context, d *DB, batch []T, statement func(context.Context, []T, []error) error) []error {
	d.stats.operations.Add(uint64(len(batch)))
	run := func(ops []T) ([]error, error) {
		errs := slices.Repeat([]error{&backends.Error{Class: backends.ErrConflict}}, len(ops))
		err := failure(ctx, statement(ctx, ops, errs))
		if err != nil {
			errs = slices.Repeat([]error{err}, len(ops))
		}
		return errs, err
	}
	errs, err := run(batch)
	if len(batch) == 1 || !errors.Is(err, backends.ErrRefused) {
		return errs
	}
	for i, op := range batch {
		alone, _ := run([]T{op})
		errs[i] = alone[0]
	}
	return errs
}

// transact runs one statement in a transaction of its own, in one round trip. The isolation is stated, since another
// default would turn lost races into failures of the whole statement.
func (d *DB) transact(ctx context.Context, sql string, args []any, each func(pgx.Rows) error) error {
	d.stats.transactions.Add(1)
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return &notSentError{err}
	}
	defer conn.Release()
	batch := &pgx.Batch{}
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	batch.Queue(sql, args...)
	batch.Queue("COMMIT")
	if err := receive(conn.SendBatch(ctx, batch), each); err != nil {
		// An open transaction is of no use to the next who gets the connection; the pool closes it if this fails.
		if !conn.Conn().IsClosed() && conn.Conn().PgConn().TxStatus() != 'I' {
			conn.Exec(ctx, "ROLLBACK")
		}
		return err
	}
	return nil
}

func receive(results pgx.BatchResults, each func(pgx.Rows) error) error {
	defer results.Close() // Twice is fine.
	if _, err := results.Exec(); err != nil {
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	if rows.Close(); rows.Err() != nil {
		return rows.Err()
	}
	tag, err := results.Exec()
	if err == nil && tag.String() != "COMMIT" {
		err = fmt.Errorf("COMMIT answered %s", tag)
	}
	return errors.Join(err, results.Close())
}

// notSentError is a failure before anything was sent.
type notSentError struct{ err error }

func (e *notSentError) Error() string { return "no connection: " + e.err.Error() }
func (e *notSentError) Unwrap() error { return e.err }
