package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim"
)

// plain is a store as one writes it first: each write is a transaction that reads, compares and writes.
type plain struct{ db *sql.DB }

// deferred is an environment variable that makes the transactions of plain stores begin without the write lock, as SQLite's
// do unless they are told otherwise.
const deferred = "GOFERRY_SQLITE_DEFERRED"

func openPlain(t *testing.T) *plain {
	t.Helper()
	dsn, connections := "file:"+newFile(t)+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(1000)", 4
	if os.Getenv(deferred) == "" {
		dsn, connections = dsn+"&_txlock=immediate", 1 // More would starve one another.
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(connections)
	t.Cleanup(func() { db.Close() })
	run(t, db, "CREATE TABLE record (key TEXT PRIMARY KEY, version INTEGER, behind BOOLEAN, body TEXT, view TEXT)")
	return &plain{db}
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// held answers the record and the view of key.
func held(ctx context.Context, q querier, key string) (r record, view string, err error) {
	var body string
	err = q.QueryRowContext(ctx, "SELECT version, behind, body, view FROM record WHERE key = ?", key).Scan(&r.Fence, &r.Behind, &body, &view)
	if errors.Is(err, sql.ErrNoRows) {
		return record{}, "[]", nil
	}
	return r, view, errors.Join(err, json.Unmarshal([]byte(body), &r.Body))
}

func (p *plain) Read(ctx context.Context, key string) (record, error) {
	r, _, err := held(ctx, p.db, key)
	return r, err
}

func (p *plain) Commit(ctx context.Context, key string, read, next record) (record, error) {
	next.Fence, next.Behind = read.Fence+1, true
	return next, p.write(ctx, key, read, next)
}

func (p *plain) Project(ctx context.Context, key string, read record) error {
	next := read
	next.Fence, next.Behind = read.Fence+1, false
	return p.write(ctx, key, read, next)
}

func (p *plain) write(ctx context.Context, key string, read, next record) error {
	body, err := json.Marshal(next.Body)
	if err != nil {
		return err
	}
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	now, view, err := held(ctx, tx, key)
	switch {
	case err != nil:
		return err
	case now.Fence != read.Fence:
		return &backends.Error{Op: "write", Key: key, Class: backends.ErrConflict}
	}
	if !next.Behind {
		view = string(body)
	}
	if _, err := tx.ExecContext(ctx, "REPLACE INTO record VALUES (?, ?, ?, ?, ?)", key, next.Fence, next.Behind, string(body), view); err != nil {
		return err
	}
	return tx.Commit()
}

func (p *plain) View(ctx context.Context, key string) (ids []string, err error) {
	_, view, err := held(ctx, p.db, key)
	return ids, errors.Join(err, json.Unmarshal([]byte(view), &ids))
}

func (p *plain) PendingKeys(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var all sql.NullString
		err := p.db.QueryRowContext(ctx, "SELECT json_group_array(key) FROM record WHERE behind").Scan(&all)
		var keys []string
		if err := errors.Join(err, json.Unmarshal([]byte(all.String), &keys)); err != nil {
			yield("", err)
		}
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// TestPlainStore: the kit has nothing against plain transactions.
func TestPlainStore(t *testing.T) {
	t.Parallel()
	sim.TestStore(t,
		projected.WholeRecord(
			fold.New[*backends.Error](storetest.Itself, (*plain).Read, backends.Step(storetest.WithName), (*plain).Commit, schedule.Stop()),
			record.Pending, (*plain).Project),
		openPlain, storetest.Throttled, sim.AnyText, nth, storetest.Names, (*plain).View, (*plain).PendingKeys, sim.WithHistories(200))
}

// TestKitSeesDeferredTransactions has TestPlainStore, as another process, test a store whose transactions take the write lock
// when they write. It must go red: one that has read what another changes fails at once, with error 5 or 517, without having
// compared anything, and whatever the timeout is.
func TestKitSeesDeferredTransactions(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestPlainStore$/^at_once:_acknowledged_increments_add_up$")
	cmd.Env = append(os.Environ(), deferred+"=1")
	out, err := cmd.CombinedOutput()
	if said := string(out); err == nil || !strings.Contains(said, "SQLITE_BUSY") || !strings.Contains(said, `law "acknowledged increments add up" broken`) {
		t.Errorf("got %v, want acknowledged increments to fail for a busy file:\n%s", err, said)
	}
}
