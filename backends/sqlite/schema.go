package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/goferry/goferry/schedule"
)

var (
	// ErrNewerSchema is the failure to open a file that a later version of this package has written.
	ErrNewerSchema = errors.New("the file has a newer schema than this build knows")
	// ErrForeignFile is the failure to open a database that is not empty and not of this package.
	ErrForeignFile = errors.New("the file belongs to another program")
)

// applicationID marks the file as ours ("gofr"), so that no other program's tables are ever migrated.
const applicationID = 0x676f6672

// migrations is the schema: the n-th brings a file from version n to n+1. They are never edited, only appended to.
//
// A record's fence is one more than it was, and that of a new record is one more than any record had that was
// deleted. So a fence never comes back, and neither a commit nor a create needs a second statement.
var migrations = []string{`
CREATE TABLE record (
	key    TEXT    NOT NULL PRIMARY KEY,
	fence  INTEGER NOT NULL CHECK (fence > 0),
	behind INTEGER NOT NULL CHECK (behind IN (0, 1)),
	body   BLOB    NOT NULL,
	view   BLOB
) STRICT;
CREATE INDEX record_behind ON record (key) WHERE behind = 1;
CREATE TABLE row (
	seq  INTEGER NOT NULL PRIMARY KEY,
	key  TEXT    NOT NULL,
	id   TEXT    NOT NULL,
	body BLOB    NOT NULL,
	UNIQUE (key, id)
) STRICT;
CREATE TABLE deleted (
	only  INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
	fence INTEGER NOT NULL
) STRICT;
INSERT INTO deleted VALUES (1, 0);
`}

// migrate brings the schema up to date in one transaction. A schema that is up to date takes no lock.
func migrate(ctx context.Context, db *sql.DB, steps []string) error {
	if version, err := schemaVersion(ctx, db); err != nil || version == len(steps) {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()                    // Does nothing after Commit.
	version, err := schemaVersion(ctx, tx) // Another process may have been faster.
	if err != nil {
		return err
	}
	if version > len(steps) {
		return fmt.Errorf("%w: version %d, not %d", ErrNewerSchema, version, len(steps))
	}
	for i, step := range steps[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("migration to version %d: %w", version+i+1, err)
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(steps))); err != nil {
		return err
	}
	return tx.Commit()
}

func schemaVersion(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (int, error) {
	var application, version, objects int
	err := db.QueryRowContext(ctx, `SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id a, pragma_user_version v`).Scan(&application, &version, &objects)
	switch {
	case err != nil:
		return 0, err
	case application == applicationID:
		return version, nil
	case application == 0 && version == 0 && objects == 0:
		return 0, nil // A new file.
	}
	return 0, ErrForeignFile
}

// retryBusy repeats op while others have the file locked. The busy timeout does not cover every lock: two processes
// that open a new file at once both switch its journal, and one of them is turned away without waiting.
func retryBusy(ctx context.Context, timeout time.Duration, op func() error) error {
	s := schedule.Exponential(time.Millisecond).Capped(50 * time.Millisecond).Jittered().UpTo(timeout)
	_, err := schedule.Retry(ctx, schedule.WhileFailure(s, isBusy), func(context.Context) (struct{}, error) {
		return struct{}{}, op()
	})
	return err
}
