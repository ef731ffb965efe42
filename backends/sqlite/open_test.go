package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	driver "modernc.org/sqlite"

	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/sqlite"
)

// rawFile is the file as any other program opens it.
func rawFile(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, statements string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		config sqlite.Config
		want   string
	}{
		{sqlite.Config{Durability: -1}, "Config.Durability"},
		{sqlite.Config{Durability: 2}, "Config.Durability"},
		{sqlite.Config{BusyTimeout: -1}, "Config.BusyTimeout"},
		{sqlite.Config{Readers: -1}, "Config.Readers"},
		{sqlite.Config{MaxGroup: -1}, "Config.MaxGroup"},
	}
	for _, tt := range tests {
		db, err := sqlite.Open(t.Context(), newFile(t), tt.config)
		if db != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want an error with %q", tt.config, err, tt.want)
		}
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	noFile := newFile(t)
	if err := os.WriteFile(noFile, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := newFile(t)
	run(t, rawFile(t, foreign), "CREATE TABLE theirs (x)")
	numbered := newFile(t)
	run(t, rawFile(t, numbered), "PRAGMA user_version = 1")
	newer := newFile(t)
	open(t, newer, sqlite.Config{}).Close()
	run(t, rawFile(t, newer), "PRAGMA user_version = 99")
	tests := []struct {
		name, path string
		ctx        context.Context
		is         error
		says       string
	}{
		{"no path", "", t.Context(), nil, "the path is empty"},
		{"a folder", t.TempDir(), t.Context(), nil, "unable to open"},
		{"no such folder", filepath.Join(t.TempDir(), "no", "store.db"), t.Context(), nil, "unable to open"},
		{"not a database", noFile, t.Context(), nil, "not a database"},
		{"tables of another program", foreign, t.Context(), sqlite.ErrForeignFile, ""},
		{"the version of another program", numbered, t.Context(), sqlite.ErrForeignFile, ""},
		{"a newer schema", newer, t.Context(), sqlite.ErrNewerSchema, "version 99, not 1"},
		{"an ended context", newFile(t), ended, context.Canceled, ""},
	}
	for _, tt := range tests {
		db, err := sqlite.Open(tt.ctx, tt.path, sqlite.Config{})
		if db != nil || err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %v %s", tt.name, err, tt.is, tt.says)
		}
	}
	var tables int
	if err := rawFile(t, foreign).QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); tables != 1 || err != nil {
		t.Errorf("tables in the foreign file: got %d, %v, want 1", tables, err)
	}
}

// TestPathIsTakenAsItIs opens names that SQLite would take for parameters, or for a database in memory.
func TestPathIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{":memory:", "file:x", "a?mode=memory", "a#b", "a%20b", "a b'\"ü", "x&_synchronous=0"} {
		path := filepath.Join(t.TempDir(), name)
		open(t, path, sqlite.Config{}).Close()
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestUnsafeConnectionIsRefused has a hook of the program weaken a setting behind the back of the store.
func TestUnsafeConnectionIsRefused(t *testing.T) {
	t.Parallel()
	for pragma, want := range map[string]string{
		"synchronous=OFF":     "synchronous is 0, not 2",
		"synchronous=NORMAL":  "synchronous is 1, not 2",
		"journal_mode=DELETE": "journal_mode is delete, not wal",
		"busy_timeout=1":      "busy_timeout is 1 ms, not 5000",
	} {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), weakened+pragma), sqlite.Config{})
		if db != nil || !errors.Is(err, sqlite.ErrUnsafe) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want ErrUnsafe: %s", pragma, err, want)
		}
	}
}

// weakened begins the name of a file for whose connections a pragma is run that ends the name.
const weakened = "weakened by "

func weaken(conn driver.ExecQuerierContext, dsn string) error {
	path, _, _ := strings.Cut(dsn, "?")
	path, err := url.PathUnescape(path)
	if err != nil {
		return err
	}
	_, pragma, found := strings.Cut(path, weakened)
	if found {
		_, err = conn.ExecContext(context.Background(), "PRAGMA "+pragma, nil)
	}
	return err
}

func TestReopen(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	db := open(t, path, sqlite.Config{})
	s := kinds[0].Of(db)
	next := storetest.Record{Body: storetest.Log{Entries: []storetest.Entry{{ID: "a", N: 1}}}, Behind: true}
	stored, err := s.Commit(t.Context(), "k", storetest.Record{}, next)
	if err := errors.Join(err, db.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	// The last to close leaves one file.
	if left, err := filepath.Glob(path + "*"); len(left) != 1 || err != nil {
		t.Errorf("got %v, %v, want the file alone", left, err)
	}
	s = kinds[0].Of(open(t, path, sqlite.Config{Durability: sqlite.Relaxed}))
	got, err := s.Read(t.Context(), "k")
	if err != nil || got.Fence != stored.Fence || !got.Behind || len(got.Body.Entries) != 1 {
		t.Errorf("got %+v, %v, want %+v", got, err, stored)
	}
	for key, err := range s.PendingKeys(t.Context()) {
		if key != "k" || err != nil {
			t.Errorf("pending: got %q, %v, want k", key, err)
		}
	}
	if _, err := s.Project(t.Context(), "k", got); err != nil {
		t.Errorf("project: %v", err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	db := open(t, newFile(t), sqlite.Config{})
	s := kinds[1].Of(db)
	db.Close()
	_, readErr := s.Read(t.Context(), "k")
	_, commitErr := s.Commit(t.Context(), "k", storetest.Record{}, storetest.Record{})
	_, projectErr := s.Project(t.Context(), "k", storetest.Record{Fence: 1})
	for _, err := range []error{readErr, commitErr, projectErr} {
		if className(err) != "refused" || !errors.Is(err, sqlite.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
	for _, err := range s.Keys(t.Context()) {
		if !errors.Is(err, sqlite.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
}

// TestBusy has another program hold the write lock: a write waits for it, and is refused when it has waited for too
// long.
func TestBusy(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	impatient := kinds[0].Of(open(t, path, sqlite.Config{BusyTimeout: time.Millisecond}))
	patient := kinds[0].Of(open(t, path, sqlite.Config{BusyTimeout: time.Hour}))
	other, err := rawFile(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"BEGIN IMMEDIATE", "UPDATE deleted SET fence = fence"} {
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	_, err = impatient.Commit(t.Context(), "k", storetest.Record{}, storetest.Record{})
	if className(err) != "refused" {
		t.Errorf("got %v, want it refused", err)
	}
	if record, err := patient.Read(t.Context(), "k"); err != nil || record.Fence != 0 {
		t.Errorf("a read beside a writer: got %v, %v, want nothing", record, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = patient.Commit(ctx, "k", storetest.Record{}, storetest.Record{})
	if className(err) != "outcome-unknown" {
		t.Errorf("got %v, want it unknown", err)
	}
	waiting := make(chan error)
	go func() {
		_, err := patient.Commit(t.Context(), "later", storetest.Record{}, storetest.Record{})
		waiting <- err
	}()
	if _, err := other.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("got %v, want it written when the lock was free", err)
	}
	// The one whose caller had left was under way, and went on.
	if record, err := patient.Read(t.Context(), "k"); err != nil || record.Fence != 1 {
		t.Errorf("got %v, %v, want the commit of unknown outcome", record, err)
	}
}
