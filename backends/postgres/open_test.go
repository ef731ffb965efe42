package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/postgres"
	"github.com/goferry/goferry/internal/pgserver"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	pool := newPool(t, server.ConnString("postgres"), nil)
	tests := []struct {
		config postgres.Config
		want   string
	}{
		{postgres.Config{Durability: -1}, "Config.Durability"},
		{postgres.Config{Durability: 2}, "Config.Durability"},
		{postgres.Config{Writers: -1}, "Config.Writers"},
		{postgres.Config{MaxGroup: -1}, "Config.MaxGroup"},
		{postgres.Config{Schema: "a'b"}, "Config.Schema"},
		{postgres.Config{Schema: "a\x00b"}, "Config.Schema"},
	}
	for _, tt := range tests {
		db, err := postgres.Open(t.Context(), pool, tt.config)
		migrateErr := postgres.Migrate(t.Context(), pool, tt.config)
		for _, err := range []error{err, migrateErr} {
			if db != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: got %v, want an error with %q", tt.config, err, tt.want)
			}
		}
	}
}

func TestNilArgumentsPanic(t *testing.T) {
	t.Parallel()
	tests := []struct {
		want string
		make func()
	}{
		{"postgres: Open: pool is nil", func() { postgres.Open(t.Context(), nil, postgres.Config{}) }},
		{"durable: New: engine is nil", func() { postgres.New[string](nil, storetest.Show) }},
		{"durable: NewRows: engine is nil", func() { newRows(nil) }},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("got panic %v, want %v", got, tt.want)
				}
			}()
			tt.make()
		})
	}
}

// wantSchema opens and writes.
func wantSchema(t *testing.T, pool *pgxpool.Pool, config postgres.Config) {
	t.Helper()
	s := kinds[0].Of(open(t, pool, config))
	record, err := s.Commit(t.Context(), "k", storetest.Record{}, storetest.Record{Behind: true})
	if err == nil {
		_, err = s.Project(t.Context(), "k", record)
	}
	if err != nil {
		t.Errorf("schema %s: %v", config.Schema, err)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	pool := newPool(t, server.ConnString("postgres"), nil)
	config := postgres.Config{Schema: fmt.Sprintf(`many "processes" %d`, schemas.Add(1))}
	if _, err := postgres.Open(t.Context(), pool, config); !errors.Is(err, postgres.ErrSchema) {
		t.Errorf("before: got %v, want ErrSchema", err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := postgres.Migrate(t.Context(), pool, config); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	wantSchema(t, pool, config)
	if err := postgres.Migrate(t.Context(), pool, config); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	pool := newPool(t, server.ConnString("postgres"), nil)
	config := newSchema(t)
	run(t, pool, fmt.Sprintf("UPDATE %q.schema_version SET version = 99", config.Schema))
	_, openErr := postgres.Open(t.Context(), pool, config)
	for _, err := range []error{openErr, postgres.Migrate(t.Context(), pool, config)} {
		if !errors.Is(err, postgres.ErrSchema) || !strings.Contains(err.Error(), "version 99, not 1") {
			t.Errorf("got %v, want ErrSchema with both versions", err)
		}
	}
}

// TestMigrationsByHand applies the files as another tool would.
func TestMigrationsByHand(t *testing.T) {
	t.Parallel()
	pool := newPool(t, server.ConnString("postgres"), nil)
	names, err := fs.Glob(postgres.Migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("got %v, %v, want files", names, err)
	}
	schema := fmt.Sprintf("by hand %d", schemas.Add(1))
	statements := fmt.Sprintf("CREATE SCHEMA %[1]q; SET LOCAL search_path TO %[1]q;", schema)
	for _, name := range names {
		file, err := postgres.Migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		statements += string(file)
	}
	run(t, pool, "BEGIN;"+statements+"COMMIT")
	wantSchema(t, pool, postgres.Config{Schema: schema})
}

// TestLaterMigrations adds files to those of today: they are applied once, all or none.
func TestLaterMigrations(t *testing.T) {
	t.Parallel()
	pool := newPool(t, server.ConnString("postgres"), nil)
	config := newSchema(t)
	wantSchema(t, pool, config)
	today, err := postgres.Migrations.ReadFile("migrations/0001_store.sql")
	if err != nil {
		t.Fatal(err)
	}
	const raise = "UPDATE schema_version SET version = version + 1;"
	files := fstest.MapFS{
		"0001_store.sql": {Data: today},
		"0002_extra.sql": {Data: []byte("ALTER TABLE record ADD COLUMN extra text; UPDATE record SET extra = key;" + raise)},
		"0003_fails.sql": {Data: []byte("CREATE TABLE half (x int); INSERT INTO nowhere VALUES (1);" + raise)},
	}
	extra := fmt.Sprintf("SELECT extra FROM %q.record", config.Schema)
	if err := postgres.MigrateFiles(t.Context(), pool, config.Schema, files); err == nil || !strings.Contains(err.Error(), "0003_fails.sql") {
		t.Errorf("got %v, want the file that failed", err)
	}
	if _, err := pool.Exec(t.Context(), extra); err == nil {
		t.Error("half of the migrations stayed")
	}
	delete(files, "0003_fails.sql")
	for range 2 {
		if err := postgres.MigrateFiles(t.Context(), pool, config.Schema, files); err != nil {
			t.Fatal(err)
		}
	}
	var got string
	if err := pool.QueryRow(t.Context(), extra).Scan(&got); got != "k" || err != nil {
		t.Errorf("got %q, %v, want k", got, err)
	}
}

// TestReadsUseTheIndex: a sweeper lists all the time, in a table that may hold millions of records.
func TestReadsUseTheIndex(t *testing.T) {
	t.Parallel()
	config := newSchema(t)
	db := open(t, admin, config)
	run(t, admin, fmt.Sprintf(`
		INSERT INTO %[1]q.record SELECT n, n, n %% 1000 = 0, '' FROM generate_series(1, 20000) n;
		INSERT INTO %[1]q.view_row SELECT n, n, n, '' FROM generate_series(1, 20000) n;
		ANALYZE %[1]q.record, %[1]q.view_row`, config.Schema))
	want := map[string]string{
		"read": "Index Scan using record_pkey", "behind": "record_behind", "keys": "using record_pkey", "present": "using view_row_pkey",
	}
	for name, sql := range db.ReadSQL() {
		args := []any{"5"}
		switch {
		case name == "present":
			args = append(args, []string{"5", "6"})
		case strings.Contains(sql, "$2"):
			args = append(args, 256)
		}
		rows, err := admin.Query(t.Context(), "EXPLAIN "+sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if got := strings.Join(plan, "\n"); err != nil || !strings.Contains(got, want[name]) || strings.Contains(got, "Seq Scan") {
			t.Errorf("%s: got %v\n%s\nwant it %s", name, err, got, want[name])
		}
	}
}

func run(t *testing.T, pool *pgxpool.Pool, statements string) {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Conn().PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

func TestUnsafeServerIsRefused(t *testing.T) {
	t.Parallel()
	config := newSchema(t)
	off := newPool(t, server.ConnString("postgres"), func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	})
	if _, err := postgres.Open(t.Context(), off, config); !errors.Is(err, postgres.ErrUnsafe) || !strings.Contains(err.Error(), "synchronous_commit") {
		t.Errorf("got %v, want ErrUnsafe for synchronous_commit", err)
	}
	config.Durability = postgres.Relaxed
	wantSchema(t, off, config)
	local := newPool(t, server.ConnString("postgres"), func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["synchronous_commit"] = "local"
	})
	wantSchema(t, local, newSchema(t))

	lying, err := pgserver.Start("fsync = off")
	if err != nil {
		t.Fatal(err)
	}
	defer lying.Close()
	pool := newPool(t, lying.ConnString("postgres"), nil)
	defer pool.Close()
	if err := postgres.Migrate(t.Context(), pool, postgres.Config{}); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Open(t.Context(), pool, postgres.Config{}); !errors.Is(err, postgres.ErrUnsafe) || !strings.Contains(err.Error(), "fsync") {
		t.Errorf("got %v, want ErrUnsafe for fsync", err)
	}
	wantSchema(t, pool, postgres.Config{Durability: postgres.Relaxed, Schema: "goferry"})
}

func TestClosed(t *testing.T) {
	t.Parallel()
	db := newDB(t, nil)
	s := kinds[1].Of(db)
	for range 2 {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	_, readErr := s.Read(t.Context(), "k")
	_, createErr := s.Commit(t.Context(), "k", storetest.Record{}, storetest.Record{})
	_, updateErr := s.Commit(t.Context(), "k", storetest.Record{Fence: 1}, storetest.Record{})
	_, projectErr := s.Project(t.Context(), "k", storetest.Record{Fence: 1})
	for _, err := range []error{readErr, createErr, updateErr, projectErr, s.Delete(t.Context(), "k", storetest.Record{Fence: 1})} {
		if !errors.Is(err, backends.ErrRefused) || !errors.Is(err, postgres.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
}

// TestCloseWaits has a write under way that waits for a lock when the DB is closed.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	pool := newPool(t, server.ConnString("postgres"), nil)
	config := newSchema(t)
	db := open(t, pool, config)
	s := kinds[0].Of(db)
	record, err := s.Commit(t.Context(), "k", storetest.Record{}, storetest.Record{})
	if err != nil {
		t.Fatal(err)
	}
	held := lock(t, pool, config, "k")
	var closing sync.WaitGroup
	closing.Go(func() {
		if _, err := s.Commit(t.Context(), "k", record, record); err != nil {
			t.Errorf("the write under way: %v", err)
		}
	})
	awaitLockWait(t, pool, config)
	closing.Go(func() { db.Close() })
	if err := held.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	closing.Wait()
}

// lock holds the record of key, as a transaction of another program may.
func lock(t *testing.T, pool *pgxpool.Pool, config postgres.Config, key string) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), fmt.Sprintf("SELECT FROM %q.record WHERE key = $1 FOR UPDATE", config.Schema), key); err != nil {
		t.Fatal(err)
	}
	return tx
}

// awaitLockWait waits until a statement of the schema waits for a lock, and answers its session.
func awaitLockWait(t *testing.T, pool *pgxpool.Pool, config postgres.Config) (pid int) {
	t.Helper()
	storetest.Until(t, "a wait for a lock", func() bool {
		err := pool.QueryRow(t.Context(), `SELECT coalesce(max(pid), 0) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND query LIKE '%"' || $1 || '".%'`, config.Schema).Scan(&pid)
		if err != nil {
			t.Fatal(err)
		}
		return pid > 0
	})
	return pid
}
