package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrSchema is the failure to open a schema that is not there, or in another version than this build needs.
var ErrSchema = errors.New("the schema is not the one this build needs")

// Migrations are the files that make and change the tables, in the order of their names, for those who apply them
// with a tool of their own: with the schema first in search_path, each once, each in a transaction.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// schemaVersion is how many files there are.
const schemaVersion = 1

// Migrate makes the schema if there is none, and brings it up to date in one transaction. Any number of processes may
// call it at once: one does it, and the others find it done. A schema of a later version is refused with [ErrSchema].
// The role needs the right to create tables there, which the role of [Open] does not.
func Migrate(ctx context.Context, pool *pgxpool.Pool, config Config) error {
	config, err := config.withDefaults()
	if err == nil {
		files, _ := fs.Sub(Migrations, "migrations")
		err = migrate(ctx, pool, config.Schema, files)
	}
	if err != nil {
		return fmt.Errorf("postgres: migrate schema %s: %w", config.Schema, err)
	}
	return nil
}

func migrate(ctx context.Context, pool *pgxpool.Pool, schema string, files fs.FS) error {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return err
	}
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		// Two that create one schema at once would both fail with a duplicate, whatever IF NOT EXISTS says.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))", "goferry "+schema); err != nil {
			return err
		}
		version, err := readVersion(ctx, tx, schema)
		if err != nil {
			return err
		}
		if version > len(names) {
			return fmt.Errorf("%w: it has version %d, not %d", ErrSchema, version, len(names))
		}
		if version == 0 {
			if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+quoted(schema)); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "SET LOCAL search_path TO "+quoted(schema)); err != nil {
			return err
		}
		return apply(ctx, tx, files, names[version:])
	})
}

func apply(ctx context.Context, tx pgx.Tx, files fs.FS, names []string) error {
	for _, name := range names {
		file, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		// Several statements without arguments: the simple protocol takes them as one.
		if _, err := tx.Conn().PgConn().Exec(ctx, string(file)).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func checkSchema(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	version, err := readVersion(ctx, pool, schema)
	if err == nil && version != schemaVersion {
		return fmt.Errorf("%w: it has version %d, not %d", ErrSchema, version, schemaVersion)
	}
	return err
}

// readVersion answers 0 for a schema without our tables. It asks the catalog by a query: what to_regclass knows may
// be from before the wait for the lock.
func readVersion(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, schema string) (version int, err error) {
	var exists bool
	err = db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
		WHERE nspname = $1::text AND relname = 'schema_version')`, schema).Scan(&exists)
	if err != nil || !exists {
		return 0, err
	}
	err = db.QueryRow(ctx, "SELECT version FROM "+quoted(schema)+".schema_version").Scan(&version)
	return version, err
}
