package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/durable"
)

func openFile(t *testing.T) (*DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := Open(t.Context(), path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, path
}

func newLog(db *DB) *Store[string, string, string] {
	return New[string](db, func(body string) string { return body })
}

// put is a commit of a new record as the writing goroutine gets it.
func put(key, body string) write {
	return func(tx *tx) error {
		var fence int64
		var behind bool
		return tx.answer(insertRecord, []any{key, true, []byte(body)}, &fence, &behind)
	}
}

// limit makes a statement fail that has a value longer than this.
func limit(t *testing.T, db *DB, length int) {
	t.Helper()
	conn, err := db.writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := sqlite3.Limit(conn, codes.SQLITE_LIMIT_LENGTH, length); err != nil {
		t.Fatal(err)
	}
}

// TestNeighbours has a group with a conflict in it and two statements that fail: those that are sound are written,
// and everyone has an answer of his own.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	db, _ := openFile(t)
	limit(t, db, 10_000)
	large := strings.Repeat("x", 20_000)
	group := []write{put("a", `"1"`), put("large", large), put("b", `"2"`), put("a", `"3"`), put("larger", large), put("c", `"4"`)}
	errs := db.commit(t.Context(), group)
	want := []error{nil, backends.ErrRefused, nil, backends.ErrConflict, backends.ErrRefused, nil}
	for i, err := range errs {
		if got := failure(err); (got == nil) != (want[i] == nil) || got != nil && !errors.Is(got, want[i]) {
			t.Errorf("write %d: got %v, want %v", i, err, want[i])
		}
	}
	var keys []string
	for key := range newLog(db).Keys(t.Context()) {
		keys = append(keys, key)
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(keys, want) {
		t.Errorf("keys: got %v, want %v", keys, want)
	}
	if got := db.Stats(); got.Operations != 6 || got.Transactions != 1 {
		t.Errorf("got %+v, want one transaction for 6 operations", got)
	}
}

// TestHalfAWriteIsUndone has a projection fail at its last row, after the marker was cleared.
func TestHalfAWriteIsUndone(t *testing.T) {
	t.Parallel()
	db, _ := openFile(t)
	if errs := db.commit(t.Context(), []write{put("k", `"1"`)}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	limit(t, db, 10_000)
	rows := []durable.StoredRow{{ID: "a", Body: []byte("1")}, {ID: "b", Body: []byte(strings.Repeat("x", 20_000))}}
	err := engine{db}.Settle(t.Context(), "k", 1, nil, rows)
	if !errors.Is(err, backends.ErrRefused) {
		t.Errorf("got %v, want it refused", err)
	}
	if record, err := newLog(db).Read(t.Context(), "k"); !record.Behind || record.Fence != 1 || err != nil {
		t.Errorf("got %+v, %v, want it untouched", record, err)
	}
	var n int
	if err := db.readers.QueryRow("SELECT count(*) FROM row").Scan(&n); n != 0 || err != nil {
		t.Errorf("rows: got %d, %v, want none", n, err)
	}
}

// TestFullFile has a file that may have no more pages: a statement fails, long before the COMMIT. That is a definite
// refusal, and the store goes on with what fits.
func TestFullFile(t *testing.T) {
	t.Parallel()
	db, _ := openFile(t)
	s := newLog(db)
	if _, err := db.writer.Exec("PRAGMA max_page_count = 30"); err != nil {
		t.Fatal(err)
	}
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		_, err = s.Commit(t.Context(), fmt.Sprint(n), backends.Record[string]{}, backends.Record[string]{Body: strings.Repeat("x", 2000)})
	}
	if !errors.Is(err, backends.ErrRefused) || code(err) != codes.SQLITE_FULL {
		t.Fatalf("after %d commits: got %v, want it refused", n, err)
	}
	if record, err := s.Read(t.Context(), fmt.Sprint(n-1)); record.Fence != 0 || err != nil {
		t.Errorf("got %v, %v, want the refused record absent", record.Fence, err)
	}
	for key := range s.Keys(t.Context()) {
		record, err := s.Read(t.Context(), key)
		if err == nil {
			err = s.Delete(t.Context(), key, record)
		}
		if err != nil {
			t.Errorf("delete: got %v, want the store to go on", err)
		}
	}
	if _, err := s.Commit(t.Context(), "again", backends.Record[string]{}, backends.Record[string]{Body: strings.Repeat("x", 2000)}); err != nil {
		t.Errorf("commit into the room that is free: %v", err)
	}
}

// TestTransactionsBeginImmediate: with a deferred transaction the second BEGIN would succeed, and the write after it
// fail with code 517, at once, whatever the busy timeout. The same is done with such a transaction, to show that it
// would be seen.
func TestTransactionsBeginImmediate(t *testing.T) {
	t.Parallel()
	db, path := openFile(t)
	connector, err := newConnector(path, Config{BusyTimeout: time.Millisecond}, false)
	if err != nil {
		t.Fatal(err)
	}
	rival := sql.OpenDB(connector)
	defer rival.Close()
	held, err := db.writer.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rival.Begin(); !isBusy(err) {
		t.Errorf("a second BEGIN: got %v, want it busy", err)
	}
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}

	conn, err := rival.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run := func(statement string) error {
		_, err := conn.ExecContext(t.Context(), statement)
		return err
	}
	if err := errors.Join(run("BEGIN DEFERRED"), conn.QueryRowContext(t.Context(), "SELECT fence FROM deleted").Scan(new(int))); err != nil {
		t.Fatal(err)
	}
	if errs := db.commit(t.Context(), []write{put("k", "1")}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	late, ok := errors.AsType[*sqlite3.Error](run("UPDATE deleted SET fence = fence"))
	if !ok || late.Code() != codes.SQLITE_BUSY_SNAPSHOT || classOf(late) != backends.ErrRefused {
		t.Errorf("a deferred write: got %v, want code 517, refused", late)
	}
	if err := run("ROLLBACK"); err != nil {
		t.Error(err)
	}
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	db, _ := openFile(t)
	if errs := db.commit(t.Context(), []write{put("k", `"kept"`)}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	ctx := t.Context()
	next := append(slices.Clone(migrations), "ALTER TABLE record ADD COLUMN extra TEXT", "UPDATE record SET extra = key")
	broken := append(slices.Clone(next), "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1)")
	if err := migrate(ctx, db.writer, broken); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("migration to version %d", len(broken))) {
		t.Errorf("got %v, want the migration that failed", err)
	}
	if version, err := schemaVersion(ctx, db.writer); version != len(migrations) || err != nil {
		t.Errorf("after a failed migration: got version %d, %v, want %d", version, err, len(migrations))
	}
	for range 2 {
		if err := migrate(ctx, db.writer, next); err != nil {
			t.Fatal(err)
		}
	}
	var extra string
	if err := db.writer.QueryRow("SELECT extra FROM record").Scan(&extra); extra != "k" || err != nil {
		t.Errorf("got %q, %v, want k", extra, err)
	}
	if record, err := newLog(db).Read(ctx, "k"); record.Body != "kept" || err != nil {
		t.Errorf("got %+v, %v, want it kept", record, err)
	}
	if err := migrate(ctx, db.writer, migrations); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("got %v, want ErrNewerSchema", err)
	}
}

func TestVersionNumber(t *testing.T) {
	t.Parallel()
	tests := []struct {
		version string
		safe    bool
	}{
		{"3.51.2", false}, {"3.51.3", true}, {"3.51.10", true}, {"3.9.0", false}, {"3.54.1", true}, {"4.0.0", true}, {"", false}, {"new", false},
	}
	for _, tt := range tests {
		if got := versionNumber(tt.version) >= minVersion; got != tt.safe {
			t.Errorf("%q is safe: got %v, want %v", tt.version, got, tt.safe)
		}
	}
}

// TestListingsUseTheIndex: a sweeper lists all the time, in a file that may hold millions of records.
func TestListingsUseTheIndex(t *testing.T) {
	t.Parallel()
	db, _ := openFile(t)
	tests := []struct {
		stmt statement
		args []any
		want string
	}{
		{selectBehind, []any{"", page}, "SEARCH record USING COVERING INDEX record_behind"},
		{selectKeys, []any{"", page}, "SEARCH record USING COVERING INDEX sqlite_autoindex_record_1"},
		{selectRecord, []any{"k"}, "SEARCH record USING INDEX sqlite_autoindex_record_1"},
		{selectPresent, append([]any{"k"}, slices.Repeat([]any{"a"}, presentAtOnce)...), "SEARCH row USING COVERING INDEX sqlite_autoindex_row_1 (key=? AND id=?)"},
	}
	for _, tt := range tests {
		rows, err := db.readers.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+readSQL[tt.stmt], tt.args...)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if got := strings.Join(plan, "; "); !strings.Contains(got, tt.want) || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("plan of %s: got %s, want it to use %s", readSQL[tt.stmt], got, tt.want)
		}
	}
}
