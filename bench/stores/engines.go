package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/etcd"
	"github.com/goferry/goferry/backends/etcd/etcdtest"
	"github.com/goferry/goferry/backends/memory"
	"github.com/goferry/goferry/backends/postgres"
	"github.com/goferry/goferry/backends/sqlite"
	"github.com/goferry/goferry/internal/pgserver"
	"github.com/goferry/goferry/projected"
)

// store is what every engine offers.
type store interface {
	backends.RowStore[string, body, id, entry]
	ProjectRows(ctx context.Context, key string, r record) (map[id]error, error)
	Rows(ctx context.Context, key string) ([]entry, error)
}

// target is a store with what its engine counts.
type target struct {
	store
	work func() work // nil if the engine counts nothing
}

// work is what an engine says it has done.
type work struct {
	Operations   uint64 // writes that reached it
	Transactions uint64 // that they shared
	Statements   uint64 // in those; 0 if the engine does not count them
}

func (w work) since(earlier work) work {
	return work{w.Operations - earlier.Operations, w.Transactions - earlier.Transactions, w.Statements - earlier.Statements}
}

// engine is a database to be measured.
type engine struct {
	name  string // selects it
	title string
	start func(ctx context.Context, dir string) (*server, error)
	aims  aims
}

// server is an engine that runs.
type server struct {
	grouped   target
	ungrouped target // writes one key a transaction; without a store if the engine does not gather writes
	close     func() error
}

var engines = []engine{
	{"memory", "Memory", startMemory, aims{}},
	{"sqlite", "SQLite", startSQLite, aims{batch: 40, grouped: 3, shared: 0.15, seq1: 2000, seq64: 110_000, keys: 9000, proj64: 40_000}},
	{"postgres", "PostgreSQL", startPostgres, aims{batch: 30, shared: 1, seq1: 1300, seq64: 60_000, keys: 4000, proj64: 23_000}},
	{"etcd", "etcd, 3 nodes", startEtcd, aims{batch: 35, shared: 1, seq1: 350, seq64: 18_000, keys: 1400, proj64: 8000}},
}

// inMemory is the memory store with its three steps of a projection in one call, as the others have it.
type inMemory struct {
	*memory.RowStore[string, body, id, entry]
}

var projectInMemory = projected.Rows(backends.RowsOf(body.lines), inMemory.Missing, inMemory.Put, inMemory.Clear)

func (m inMemory) ProjectRows(ctx context.Context, key string, r record) (map[id]error, error) {
	return projectInMemory(m, ctx, key, r)
}

// startMemory is the bound from above: what goferry and the program itself take.
func startMemory(context.Context, string) (*server, error) {
	kept := inMemory{memory.NewRows[string](body.lines, entry.ident)}
	return &server{grouped: target{store: kept}, close: func() error { return nil }}, nil
}

func startSQLite(ctx context.Context, dir string) (*server, error) {
	grouped, err := sqlite.Open(ctx, filepath.Join(dir, "grouped.db"), sqlite.Config{})
	if err != nil {
		return nil, err
	}
	ungrouped, err := sqlite.Open(ctx, filepath.Join(dir, "ungrouped.db"), sqlite.Config{MaxGroup: 1})
	if err != nil {
		return nil, errors.Join(err, grouped.Close())
	}
	return &server{
		grouped:   onSQLite(grouped),
		ungrouped: onSQLite(ungrouped),
		close:     func() error { return errors.Join(grouped.Close(), ungrouped.Close()) },
	}, nil
}

func onSQLite(db *sqlite.DB) target {
	return target{
		store: sqlite.NewRows[string](db, body.lines, entry.ident).WithBodies(bodies).WithRows(rows),
		work: func() work {
			s := db.Stats()
			return work{s.Operations, s.Transactions, s.Statements}
		},
	}
}

func startPostgres(ctx context.Context, dir string) (*server, error) {
	if err := os.Chmod(dir, 0o711); err != nil { // The server does not run as root, and has to get through.
		return nil, err
	}
	private, err := pgserver.StartIn(dir)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, private.ConnString("postgres")+" pool_max_conns=16")
	if err != nil {
		return nil, errors.Join(err, private.Close())
	}
	end := func() error {
		pool.Close()
		return private.Close()
	}
	grouped, err := openPostgres(ctx, pool, postgres.Config{Schema: "grouped"})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	ungrouped, err := openPostgres(ctx, pool, postgres.Config{Schema: "ungrouped", MaxGroup: 1})
	if err != nil {
		return nil, errors.Join(err, grouped.Close(), end())
	}
	return &server{
		grouped:   onPostgres(grouped),
		ungrouped: onPostgres(ungrouped),
		close:     func() error { return errors.Join(grouped.Close(), ungrouped.Close(), end()) },
	}, nil
}

func openPostgres(ctx context.Context, pool *pgxpool.Pool, config postgres.Config) (*postgres.DB, error) {
	if err := postgres.Migrate(ctx, pool, config); err != nil {
		return nil, err
	}
	return postgres.Open(ctx, pool, config)
}

// onPostgres counts each transaction as the one statement that it is.
func onPostgres(db *postgres.DB) target {
	return target{
		store: postgres.NewRows[string](db, body.lines, entry.ident).WithBodies(bodies).WithRows(rows),
		work: func() work {
			s := db.Stats()
			return work{s.Operations, s.Transactions, s.Transactions}
		},
	}
}

func startEtcd(ctx context.Context, dir string) (*server, error) {
	cluster, err := etcdtest.Start(dir, etcdtest.Config{})
	if err != nil {
		return nil, err
	}
	db, err := etcd.Open(ctx, clientv3.Config{Endpoints: cluster.Endpoints(), DialTimeout: 5 * time.Second}, etcd.Config{})
	if err != nil {
		cluster.Close()
		return nil, err
	}
	return &server{
		grouped: target{
			store: etcd.NewRows[string](db, body.lines, entry.ident).WithBodies(bodies).WithRows(rows),
			work: func() work {
				n := uint64(cluster.Writes()) // Counted at the servers: a hidden second try would show.
				return work{Operations: n, Transactions: n}
			},
		},
		close: func() error {
			err := db.Close()
			cluster.Close()
			return err
		},
	}, nil
}
