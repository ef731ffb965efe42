package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/goferry/goferry/backends/internal/contract"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/postgres"
	"github.com/goferry/goferry/internal/pgserver"
)

// server is the server of all tests, but for those that harm theirs, and admin a pool on it for what is not under test.
var (
	server *pgserver.Server
	admin  *pgxpool.Pool
)

func TestMain(m *testing.M) {
	if part, ok := os.LookupEnv(childMode); ok {
		if err := children[part](context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(runTests(m))
}

// runTests fails where there is no server: tests that are skipped would look like tests that passed.
func runTests(m *testing.M) int {
	var err error
	if server, err = pgserver.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if admin, err = pgxpool.New(context.Background(), server.ConnString("postgres")); err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, server.Close()))
		return 1
	}
	status := m.Run()
	admin.Close()
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

var kinds = storetest.Kinds(
	func(db *postgres.DB) storetest.Views { return postgres.New[string](db, storetest.Show) }, newRows)

type rowStore = postgres.RowStore[string, storetest.Log, string, storetest.Entry]

func newRows(db *postgres.DB) *rowStore {
	return postgres.NewRows[string](db, storetest.Of, storetest.Entry.Ident)
}

// modes are the ways in which a user's pool may talk to the server.
var modes = []struct {
	name string
	set  func(*pgxpool.Config)
}{
	{"as it comes", func(*pgxpool.Config) {}},
	{"serializable", func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	}},
	{"simple protocol", func(c *pgxpool.Config) {
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	}},
	{"no prepared statements", func(c *pgxpool.Config) {
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}},
}

func newPool(t *testing.T, connString string, set func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(connString)
	if err != nil {
		t.Fatal(err)
	}
	// What hangs fails its own test.
	config.ConnConfig.ConnectTimeout = storetest.Patience
	config.ConnConfig.RuntimeParams["statement_timeout"] = fmt.Sprint(storetest.Patience.Milliseconds())
	if set != nil {
		set(config)
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(t.Context()), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

var schemas atomic.Int64

// newSchema makes a schema of its own for a test.
func newSchema(t *testing.T) postgres.Config {
	t.Helper()
	config := postgres.Config{Schema: fmt.Sprintf("test %d", schemas.Add(1))}
	if err := postgres.Migrate(t.Context(), admin, config); err != nil {
		t.Fatal(err)
	}
	return config
}

func open(t *testing.T, pool *pgxpool.Pool, config postgres.Config) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), pool, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// newDB is a store of its own on a pool of its own.
func newDB(t *testing.T, set func(*pgxpool.Config)) *postgres.DB {
	t.Helper()
	return open(t, newPool(t, server.ConnString("postgres"), set), newSchema(t))
}

// TestContract has every check of single calls. A check has a schema of its own, and they share a pool.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		pool := newPool(t, server.ConnString("postgres"), mode.set)
		t.Run(mode.name+"/views", func(t *testing.T) {
			contract.Test(t, func() contract.Subject {
				s := postgres.New[string](open(t, pool, newSchema(t)), slices.Clone[[]string])
				return contract.Subject{
					Store: s, Settle: s.Project, Delete: s.Delete,
					View: func(ctx context.Context, key string) ([]string, error) {
						view, _, err := s.View(ctx, key)
						return view, err
					},
				}
			})
		})
		t.Run(mode.name+"/rows", func(t *testing.T) {
			contract.Test(t, func() contract.Subject {
				s := postgres.NewRows[string](open(t, pool, newSchema(t)), contract.RowsOf, func(row string) string { return row })
				return contract.Subject{Store: s, Settle: s.Clear, Delete: s.Delete, View: s.Rows, Rows: s}
			})
		})
	}
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		for _, kind := range kinds {
			if mode.name != modes[0].name && kind.Name != kinds[2].Name {
				continue // The contract has the others.
			}
			t.Run(mode.name+"/"+kind.Name, func(t *testing.T) {
				t.Parallel()
				storetest.Test(t, func(t *testing.T) storetest.Subject { return kind.Of(newDB(t, mode.set)) })
			})
		}
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			storetest.Model(t, kind.Of(newDB(t, nil)), kind.Model)
		})
	}
}

func TestCancelledCommits(t *testing.T) {
	t.Parallel()
	storetest.Cancelled(t, kinds[0].Of(newDB(t, nil)), 5000)
}
