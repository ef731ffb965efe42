package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/goferry/goferry/backends/internal/group"
)

// Durability says what an answered write survives.
type Durability int

const (
	// Full is the default: an answered write survives the end of the server and a power cut.
	Full Durability = iota
	// Relaxed takes the server as it is. With synchronous_commit or fsync off the last writes that were answered, or
	// all of them, are lost when it crashes.
	Relaxed
)

// Config is how the tables are used. Its zero value is the default in every field.
type Config struct {
	// Schema is where the tables are: one kind of records a schema. Default "goferry".
	Schema string
	// Durability is Full by default.
	Durability Durability
	// Writers is how many connections of the pool are used at once for each kind of write. Default 2.
	Writers int
	// MaxGroup bounds the operations that share one statement. Default 128.
	MaxGroup int

	_ struct{}
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Durability != Full && c.Durability != Relaxed:
		return c, fmt.Errorf("Config.Durability is neither Full nor Relaxed: %d", c.Durability)
	case strings.ContainsAny(c.Schema, "'\x00"):
		return c, fmt.Errorf("Config.Schema has a character that no schema should have: %q", c.Schema)
	case c.Writers < 0:
		return c, fmt.Errorf("Config.Writers is negative: %d", c.Writers)
	case c.MaxGroup < 0:
		return c, fmt.Errorf("Config.MaxGroup is negative: %d", c.MaxGroup)
	}
	c.Schema = cmp.Or(c.Schema, "goferry")
	c.Writers = cmp.Or(c.Writers, 2)
	c.MaxGroup = cmp.Or(c.MaxGroup, 128)
	return c, nil
}

// ErrUnsafe is the failure to open a server that loses answered writes, or that is a standby.
var ErrUnsafe = errors.New("the server would lose writes")

// DB is a schema with the tables of a store. Make one with [Open]. Its stores may be used by any number of
// goroutines, and the schema by any number of processes.
type DB struct {
	pool   *pgxpool.Pool
	sql    queries
	closed atomic.Bool
	stats  stats

	// One group for each kind of write: its operations share a statement.
	creates, updates *group.Group[*commitOp]
	settles          *group.Group[*settleOp]
	puts             *group.Group[*putOp]
}

// Open makes a DB of a pool, which stays the user's: it is closed after the DB. Open checks that the schema is there
// in the version of this build ([ErrSchema]; see [Migrate]) and that the server keeps what it acknowledges
// ([ErrUnsafe]).
func Open(ctx context.Context, pool *pgxpool.Pool, config Config) (*DB, error) {
	if pool == nil {
		panic("postgres: Open: pool is nil")
	}
	config, err := config.withDefaults()
	if err == nil {
		err = check(ctx, pool, config)
	}
	if err != nil {
		return nil, fmt.Errorf("postgres: open schema %s: %w", config.Schema, err)
	}
	d := &DB{pool: pool, sql: newQueries(config.Schema)}
	d.creates = group.New(config.Writers, config.MaxGroup, d.create)
	d.updates = group.New(config.Writers, config.MaxGroup, d.update)
	d.settles = group.New(config.Writers, config.MaxGroup, d.settle)
	d.puts = group.New(config.Writers, config.MaxGroup, d.put)
	return d, nil
}

func check(ctx context.Context, pool *pgxpool.Pool, config Config) error {
	var fsync, synchronousCommit string
	var standby bool
	// Sent as one read, on whatever connection: what it says is the server's, the database's or the role's setting.
	err := pool.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit'), pg_is_in_recovery()`).
		Scan(&fsync, &synchronousCommit, &standby)
	switch {
	case err != nil:
		return err
	case standby:
		return fmt.Errorf("%w: it is a standby", ErrUnsafe)
	case config.Durability == Full && fsync == "off":
		return fmt.Errorf("%w: fsync is off", ErrUnsafe)
	case config.Durability == Full && synchronousCommit == "off":
		return fmt.Errorf("%w: synchronous_commit is off", ErrUnsafe)
	}
	return checkSchema(ctx, pool, config.Schema)
}

// Close refuses further writes, waits for those that were taken, and leaves the pool open. Closing twice is fine.
func (d *DB) Close() error {
	d.closed.Store(true)
	var all sync.WaitGroup
	all.Go(d.creates.Close)
	all.Go(d.updates.Close)
	all.Go(d.settles.Close)
	all.Go(d.puts.Close)
	all.Wait()
	return nil
}

// Stats is what a DB has done since it was opened.
type Stats struct {
	// Operations counts the writes that were handed in and run: commits, projections, clears and puts.
	Operations uint64
	// Transactions counts the transactions they shared, of one statement each.
	Transactions uint64
}

type stats struct{ operations, transactions atomic.Uint64 }

// Stats answers what the DB has done so far.
func (d *DB) Stats() Stats {
	return Stats{Operations: d.stats.operations.Load(), Transactions: d.stats.transactions.Load()}
}

// quoted is a schema as part of a statement.
func quoted(schema string) string { return pgx.Identifier{schema}.Sanitize() }
