package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goferry/goferry/backends/internal/group"
)

// Durability says what an answered write survives.
type Durability int

const (
	// Full is the default: an answered write survives the end of the process and a power cut.
	Full Durability = iota
	// Relaxed survives the end of the process. A power cut or a crash of the operating system loses the last writes
	// that were answered, and the file stays whole.
	Relaxed
)

// Config is how a file is opened. Its zero value is the default in every field.
type Config struct {
	// Durability is Full by default.
	Durability Durability
	// BusyTimeout is how long a write waits for another process that is writing, in whole milliseconds. Default 5 s.
	BusyTimeout time.Duration
	// Readers bounds the connections that read at once. Default 4.
	Readers int
	// MaxGroup bounds the operations that share one transaction. Default 256.
	MaxGroup int

	_ struct{}
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Durability != Full && c.Durability != Relaxed:
		return c, fmt.Errorf("Config.Durability is neither Full nor Relaxed: %d", c.Durability)
	case c.BusyTimeout < 0:
		return c, fmt.Errorf("Config.BusyTimeout is negative: %v", c.BusyTimeout)
	case c.Readers < 0:
		return c, fmt.Errorf("Config.Readers is negative: %d", c.Readers)
	case c.MaxGroup < 0:
		return c, fmt.Errorf("Config.MaxGroup is negative: %d", c.MaxGroup)
	}
	c.BusyTimeout = cmp.Or(c.BusyTimeout, 5*time.Second)
	c.Readers = cmp.Or(c.Readers, 4)
	c.MaxGroup = cmp.Or(c.MaxGroup, 256)
	return c, nil
}

// DB is an open file: the one connection that writes to it, and those that read. Make one with [Open]. Its stores may
// be used by any number of goroutines, and the file may be open in any number of processes of one machine.
type DB struct {
	writer  *sql.DB // At most one connection.
	readers *sql.DB
	group   *group.Group[write]

	write, read statements

	closed  atomic.Bool
	closing sync.Mutex
	stopped error // Why no more is written. Only the group's goroutine touches it.
	stats   stats
}

// Open opens the file at path, which it makes if there is none, and brings its schema up to date. It fails if the
// file is of a later version of this package ([ErrNewerSchema]) or of another program ([ErrForeignFile]), and if the
// connection does not keep what the configuration promises ([ErrUnsafe]). It blocks for up to the busy timeout while
// others have the file locked. Close the DB in the end.
func Open(ctx context.Context, path string, config Config) (*DB, error) {
	d, err := open(ctx, path, config)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	return d, nil
}

func open(ctx context.Context, path string, config Config) (*DB, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	writing, err := newConnector(path, config, false)
	if err != nil {
		return nil, err
	}
	reading, err := newConnector(path, config, true)
	if err != nil {
		return nil, err
	}
	d := &DB{writer: sql.OpenDB(writing), readers: sql.OpenDB(reading)}
	d.writer.SetMaxOpenConns(1)
	d.readers.SetMaxOpenConns(config.Readers)
	d.readers.SetMaxIdleConns(config.Readers)
	if err := d.prepare(ctx, config); err != nil {
		return nil, errors.Join(err, d.closeFile())
	}
	d.group = group.New(1, config.MaxGroup, d.commit)
	return d, nil
}

func (d *DB) prepare(ctx context.Context, config Config) error {
	if err := retryBusy(ctx, config.BusyTimeout, func() error { return migrate(ctx, d.writer, migrations) }); err != nil {
		return err
	}
	if err := d.write.prepare(ctx, d.writer, writeSQL); err != nil {
		return err
	}
	return d.read.prepare(ctx, d.readers, readSQL)
}

// Close refuses further operations, waits for the writes that were taken and closes the file: for at most one
// transaction, and the wait for another process in front of it. Closing twice is fine.
func (d *DB) Close() error {
	d.closing.Lock()
	defer d.closing.Unlock()
	if d.closed.Swap(true) {
		return nil
	}
	d.group.Close()
	if err := d.closeFile(); err != nil {
		return fmt.Errorf("sqlite: close: %w", err)
	}
	return nil
}

// closeFile closes the readers first: the last connection to go moves the log into the file, and should be able to
// write.
func (d *DB) closeFile() error {
	return errors.Join(d.read.close(), d.readers.Close(), d.write.close(), d.writer.Close())
}

// Stats is what a DB has done since it was opened.
type Stats struct {
	// Operations counts the writes that were handed in and run: commits, projections, puts, clears and deletes.
	Operations uint64
	// Transactions counts the transactions they shared. Each costs one sync of the disk unless nothing changed in it.
	Transactions uint64
	// Statements counts the statements in those transactions, without BEGIN and COMMIT.
	Statements uint64
}

type stats struct{ operations, transactions, statements atomic.Uint64 }

// Stats answers what the DB has done so far.
func (d *DB) Stats() Stats {
	return Stats{
		Operations:   d.stats.operations.Load(),
		Transactions: d.stats.transactions.Load(),
		Statements:   d.stats.statements.Load(),
	}
}
