package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/goferry/goferry/backends/durable"
)

// write is one operation: its statements, which run inside a transaction that it shares with others. It answers
// errConflict before it has changed anything, and any other error at any point. It is run again if a neighbour took
// the transaction down, and it must look at nothing but tx.
type write func(tx *tx) error

// errConflict is the answer of a write whose fence is not the record's.
var errConflict = errors.New("conflict")

// tx is the open transaction.
type tx struct {
	*sql.Tx
	stmts statements
	stats *stats
}

// changed runs a statement and answers how many rows it changed.
func (t *tx) changed(stmt statement, args ...any) (int64, error) {
	t.stats.statements.Add(1)
	result, err := t.StmtContext(context.Background(), t.stmts[stmt]).Exec(args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// fenced runs a statement that changes one row, or none if the fence is not the record's.
func (t *tx) fenced(stmt statement, args ...any) error {
	switch n, err := t.changed(stmt, args...); {
	case err != nil:
		return err
	case n == 0:
		return errConflict
	}
	return nil
}

// answer runs a statement that answers one row, or none if the fence is not the record's.
func (t *tx) answer(stmt statement, args []any, to ...any) error {
	t.stats.statements.Add(1)
	err := t.StmtContext(context.Background(), t.stmts[stmt]).QueryRow(args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return errConflict
	}
	return err
}

// insert writes the rows that are not there, as many to a statement as there is one for.
func (t *tx) insert(key string, rows []durable.StoredRow) error {
	for len(rows) > 0 {
		stmt, n := insert1, 1
		switch {
		case len(rows) >= 64:
			stmt, n = insert64, 64
		case len(rows) >= 8:
			stmt, n = insert8, 8
		}
		args := make([]any, 0, 1+2*n)
		args = append(args, key)
		for _, r := range rows[:n] {
			args = append(args, r.ID, r.Body)
		}
		if _, err := t.changed(stmt, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// do hands a write to the writing goroutine and waits for its transaction. A context that ends interrupts the wait,
// never the transaction: it has neighbours.
func (d *DB) do(ctx context.Context, w write) error { return failure(d.group.Do(ctx, w)) }

// commit runs the writes of a group in one transaction and answers each on its own. It heeds no context: an interrupted
// transaction would leave all its writes unknown, and to finish it takes no longer.
func (d *DB) commit(_ context.Context, group []write) []error {
	d.stats.operations.Add(uint64(len(group)))
	errs := make([]error, len(group))
	left := make([]int, len(group))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		failed, err := d.attempt(group, left, errs)
		switch {
		case err == nil:
			return errs
		case failed < 0: // The transaction itself failed, and everybody with it.
			for _, i := range left {
				errs[i] = err
			}
			return errs
		}
		// One statement failed. SQLite may have rolled back the whole transaction at that, so there is nothing to go on
		// from: the others go again without it.
		errs[left[failed]] = err
		left = append(left[:failed], left[failed+1:]...)
	}
	return errs
}

// attempt runs the writes that are left in one transaction. It answers which one failed, or -1 if it was the
// transaction.
func (d *DB) attempt(group []write, left []int, errs []error) (failed int, err error) {
	if d.stopped != nil {
		return -1, d.stopped
	}
	begun, err := d.writer.Begin()
	if err != nil {
		return -1, err
	}
	t := &tx{Tx: begun, stmts: d.write, stats: &d.stats}
	for n, i := range left {
		errs[i] = group[i](t)
		if errs[i] != nil && !errors.Is(errs[i], errConflict) {
			t.Rollback() // Whatever it says, what was never committed is not there.
			return n, errs[i]
		}
	}
	d.stats.transactions.Add(1)
	if err := t.Commit(); err != nil && isBusy(err) {
		return -1, err // The driver has rolled it back.
	} else if err != nil {
		// Nobody knows what is on the disk. To sync again would prove nothing: the system forgets what it could not
		// write and reports it once.
		d.stopped = fmt.Errorf("%w: %w", ErrStopped, err)
		return -1, &commitError{err}
	}
	return 0, nil
}

// commitError is a failure of COMMIT itself: the only one after which the writes may be there.
type commitError struct{ err error }

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }
