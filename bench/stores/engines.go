package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

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
	hand hand        // nil if there is no engine but the store
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
	name   string // selects it
	title  string
	start  func(ctx context.Context, dir string) (*server, error)
	aims   aims
	traced string                                       // the engine that runs on a slow disk for it, "" for none
	remote func(context.Context, string, *remote) error // connects to it through proxies, nil if there is no connection
}

// server is an engine that runs.
type server struct {
	grouped   target
	ungrouped target // writes one key a transaction; without a store if the engine does not gather writes
	close     func() error
}

var engines = []engine{
	{name: "memory", title: "Memory", start: startMemory},
	{name: "sqlite", title: "SQLite", start: startSQLite, traced: "sqlite",
		aims: aims{batch: 40, grouped: 3, shared: 0.15, seq1: 2000, p50: 400 * time.Microsecond, seq64: 110_000, keys: 9000, proj64: 40_000,
			slow: 15, syncs: 1.1, sharedSyncs: 0.15}},
	{name: "postgres", title: "PostgreSQL", start: startPostgres, traced: "postgres", remote: remotePostgres,
		aims: aims{batch: 30, shared: 1, seq1: 1300, p50: 600 * time.Microsecond, seq64: 60_000, keys: 4000, proj64: 23_000,
			slow: 5, slowest: 250 * time.Millisecond}},
	{name: "etcd", title: "etcd, 3 nodes", start: startEtcd(3), traced: "etcd1", remote: remoteEtcd,
		aims: aims{batch: 35, shared: 1, seq1: 350, p50: 2 * time.Millisecond, seq64: 18_000, keys: 1400, proj64: 8000,
			slow: 10, slowest: 500 * time.Millisecond}},
}

// oneNode is measured when it is named: three nodes on one disk would wait for each other's syncs.
var oneNode = engine{name: "etcd1", title: "etcd, 1 node", start: startEtcd(1), aims: aims{shared: 1}}

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
	hand, err := openSQLiteHand(filepath.Join(dir, "grouped.db"))
	if err != nil {
		return nil, errors.Join(err, ungrouped.Close(), grouped.Close())
	}
	s := &server{
		grouped:   onSQLite(grouped),
		ungrouped: onSQLite(ungrouped),
		close:     func() error { return errors.Join(hand.Close(), ungrouped.Close(), grouped.Close()) },
	}
	s.grouped.hand = hand
	return s, nil
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
	s := &server{
		grouped:   onPostgres(grouped),
		ungrouped: onPostgres(ungrouped),
		close:     func() error { return errors.Join(grouped.Close(), ungrouped.Close(), end()) },
	}
	s.grouped.hand = postgresHand{pool, "grouped"}
	return s, nil
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

func startEtcd(nodes int) func(context.Context, string) (*server, error) {
	return func(ctx context.Context, dir string) (*server, error) {
		cluster, err := etcdtest.Start(dir, etcdtest.Config{Nodes: nodes})
		if err != nil {
			return nil, err
		}
		db, err := etcd.Open(ctx, clientv3.Config{Endpoints: cluster.Endpoints(), DialTimeout: 5 * time.Second}, etcd.Config{})
		if err != nil {
			cluster.Close()
			return nil, err
		}
		client, err := clientv3.New(clientv3.Config{Endpoints: cluster.Endpoints(), Logger: zap.NewNop()})
		if err != nil {
			err = errors.Join(err, db.Close())
			cluster.Close()
			return nil, err
		}
		work := func() work {
			n := uint64(cluster.Writes()) // Counted at the servers: a hidden second try would show.
			return work{Operations: n, Transactions: n}
		}
		return &server{
			grouped: target{store: onEtcd(db), work: work, hand: etcdHand{client}},
			close: func() error {
				err := errors.Join(client.Close(), db.Close())
				cluster.Close()
				return err
			},
		}, nil
	}
}

func onEtcd(db *etcd.DB) store {
	return etcd.NewRows[string](db, body.lines, entry.ident).WithBodies(bodies).WithRows(rows)
}
