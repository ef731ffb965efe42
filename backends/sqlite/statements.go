package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// statement names a prepared statement.
type statement int

const (
	insertRecord statement = iota
	updateRecord
	projectView
	clearMarker
	insert64
	insert8
	insert1
	deleteRecord
	raiseDeleted
	deleteRows

	selectRecord
	selectView
	selectRows
	selectPresent
	selectKeys
	selectBehind
)

// writeSQL runs on the writing connection. Every write of a record is one statement, and compares the fence itself.
var writeSQL = map[statement]string{
	insertRecord: `INSERT INTO record (key, fence, behind, body) VALUES (?, (SELECT fence + 1 FROM deleted), ?, ?)
		ON CONFLICT (key) DO NOTHING RETURNING fence, behind`,
	updateRecord: `UPDATE record SET fence = fence + 1, behind = behind | ?, body = ? WHERE key = ? AND fence = ? RETURNING fence, behind`,
	projectView:  `UPDATE record SET fence = fence + 1, behind = 0, view = ? WHERE key = ? AND fence = ?`,
	clearMarker:  `UPDATE record SET fence = fence + 1, behind = 0 WHERE key = ? AND fence = ?`,
	insert64:     insertSQL(64),
	insert8:      insertSQL(8),
	insert1:      insertSQL(1),
	deleteRecord: `DELETE FROM record WHERE key = ? AND fence = ?`,
	raiseDeleted: `UPDATE deleted SET fence = max(fence, ?)`,
	deleteRows:   `DELETE FROM row WHERE key = ?`,
}

// insertSQL is the statement for so many rows of a key: each costs a fraction of what it does in one of its own.
func insertSQL(rows int) string {
	return `INSERT INTO row (key, id, body) VALUES (?1, ?, ?)` + strings.Repeat(", (?1, ?, ?)", rows-1) + ` ON CONFLICT (key, id) DO NOTHING`
}

// presentAtOnce is how many identities one statement looks for.
const presentAtOnce = 64

// readSQL runs on the reading connections. The listings answer one page.
var readSQL = map[statement]string{
	selectRecord:  `SELECT fence, behind, body FROM record WHERE key = ?`,
	selectView:    `SELECT view FROM record WHERE key = ? AND view IS NOT NULL`,
	selectRows:    `SELECT body FROM row WHERE key = ? ORDER BY seq`,
	selectPresent: `SELECT id FROM row WHERE key = ? AND id IN (?` + strings.Repeat(", ?", presentAtOnce-1) + `)`,
	selectKeys:    `SELECT key FROM record WHERE key >= ? ORDER BY key LIMIT ?`,
	selectBehind:  `SELECT key FROM record WHERE behind = 1 AND key >= ? ORDER BY key LIMIT ?`,
}

type statements map[statement]*sql.Stmt

func (s *statements) prepare(ctx context.Context, db *sql.DB, queries map[statement]string) error {
	*s = statements{}
	for name, query := range queries {
		stmt, err := db.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		(*s)[name] = stmt
	}
	return nil
}

func (s statements) close() error {
	var errs []error
	for _, stmt := range s {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}
