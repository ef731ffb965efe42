package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	clientv3 "go.etcd.io/etcd/client/v3"
	_ "modernc.org/sqlite"
)

// hand is what one writes against an engine without goferry, into the tables of its store. It knows of no conflict that is not an error,
// shares nothing between writers, and looks for no row before it writes it.
type hand interface {
	read(ctx context.Context, key string) (fence int64, stored []byte, err error)
	commit(ctx context.Context, key string, fence int64, behind bool, stored []byte) (int64, error)
	project(ctx context.Context, key string, fence int64, rows []entry) error
}

var errRival = errors.New("a loop by hand met a rival")

// byHand is the loop: read, fold, write, and with a view write its rows.
func byHand(h hand, view bool) call {
	return func(ctx context.Context, key string, batch []entry) ([]id, error) {
		fence, stored, err := h.read(ctx, key)
		if err != nil {
			return nil, err
		}
		var b body
		if fence > 0 {
			if b, err = decodeBody(stored); err != nil {
				return nil, err
			}
		}
		b.Last = nil
		ids := make([]id, len(batch))
		for i, e := range batch {
			b, ids[i], _ = add(b, e)
		}
		if stored, err = encodeBody(b); err != nil {
			return nil, err
		}
		if fence, err = h.commit(ctx, key, fence, view, stored); err != nil || !view {
			return ids, err
		}
		return ids, h.project(ctx, key, fence, b.Last)
	}
}

// sqliteHand has one connection, on which its statements stay prepared.
type sqliteHand struct {
	*sql.DB
	prepared map[string]*sql.Stmt
}

func openSQLiteHand(path string) (sqliteHand, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_journal_mode=WAL&_synchronous=2&_txlock=immediate&_busy_timeout=5000")
	if err != nil {
		return sqliteHand{}, err
	}
	db.SetMaxOpenConns(1)
	return sqliteHand{db, map[string]*sql.Stmt{}}, nil
}

func (h sqliteHand) statement(query string) (*sql.Stmt, error) {
	if stmt, ok := h.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := h.Prepare(query)
	if err == nil {
		h.prepared[query] = stmt
	}
	return stmt, err
}

func (h sqliteHand) read(ctx context.Context, key string) (fence int64, stored []byte, err error) {
	stmt, err := h.statement(`SELECT fence, body FROM record WHERE key = ?`)
	if err != nil {
		return 0, nil, err
	}
	if err = stmt.QueryRowContext(ctx, key).Scan(&fence, &stored); errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return fence, stored, err
}

func (h sqliteHand) commit(ctx context.Context, key string, fence int64, behind bool, stored []byte) (int64, error) {
	query, args := `UPDATE record SET fence = fence + 1, behind = ?, body = ? WHERE key = ? AND fence = ?`, []any{behind, stored, key, fence}
	if fence == 0 {
		query, args = `INSERT INTO record (behind, body, key, fence) VALUES (?, ?, ?, 1)`, args[:3]
	}
	stmt, err := h.statement(query)
	if err != nil {
		return 0, err
	}
	return fence + 1, changed(stmt, 1, args...)
}

// changed runs a statement that changes so many rows, or met a rival. It cannot be interrupted, which is faster.
func changed(stmt *sql.Stmt, want int64, args ...any) error {
	result, err := stmt.Exec(args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); n != want || err != nil {
		return errors.Join(errRival, err)
	}
	return nil
}

func (h sqliteHand) project(_ context.Context, key string, fence int64, rows []entry) error {
	clear, clearErr := h.statement(`UPDATE record SET fence = fence + 1, behind = 0 WHERE key = ? AND fence = ?`)
	insert, insertErr := h.statement(`INSERT INTO row (key, id, body) VALUES ` + strings.Repeat("(?, ?, ?), ", len(rows)-1) + "(?, ?, ?)")
	if err := errors.Join(clearErr, insertErr); err != nil {
		return err
	}
	var args []any
	for _, e := range rows {
		args = append(args, key, fmt.Sprint(e.ID), appendEntry(nil, e))
	}
	tx, err := h.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // Does nothing after Commit.
	if err := changed(tx.Stmt(clear), 1, key, fence); err != nil {
		return err
	}
	if err := changed(tx.Stmt(insert), int64(len(rows)), args...); err != nil {
		return err
	}
	return tx.Commit()
}

type postgresHand struct {
	*pgxpool.Pool
	schema string
}

func (h postgresHand) read(ctx context.Context, key string) (fence int64, stored []byte, err error) {
	err = h.QueryRow(ctx, `SELECT fence, body FROM `+h.schema+`.record WHERE key = $1`, key).Scan(&fence, &stored)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return fence, stored, err
}

func (h postgresHand) commit(ctx context.Context, key string, fence int64, behind bool, stored []byte) (int64, error) {
	query, args := `UPDATE `+h.schema+`.record SET fence = fence + 1, behind = $1, body = $2 WHERE key = $3 AND fence = $4`, []any{behind, stored, key, fence}
	if fence == 0 {
		query, args = `INSERT INTO `+h.schema+`.record (behind, body, key, fence) VALUES ($1, $2, $3, 1)`, args[:3]
	}
	tag, err := h.Exec(ctx, query, args...)
	if err == nil && tag.RowsAffected() != 1 {
		err = errRival
	}
	return fence + 1, err
}

func (h postgresHand) project(ctx context.Context, key string, fence int64, rows []entry) error {
	ids, bodies := make([]string, len(rows)), make([][]byte, len(rows))
	for i, e := range rows {
		ids[i], bodies[i] = fmt.Sprint(e.ID), appendEntry(nil, e)
	}
	var n int
	err := h.QueryRow(ctx, `WITH cleared AS (
			UPDATE `+h.schema+`.record SET fence = fence + 1, behind = false WHERE key = $1 AND fence = $2 RETURNING key
		), written AS (
			INSERT INTO `+h.schema+`.view_row (key, id, seq, body)
			SELECT key, id, seq, body FROM cleared, unnest($3::text[], $4::bytea[]) WITH ORDINALITY AS row (id, body, seq)
		)
		SELECT count(*) FROM cleared`, key, fence, ids, bodies).Scan(&n)
	if err == nil && n != 1 {
		err = errRival
	}
	return err
}

// etcdHand has the keys of the store below its prefix. The names of keys and rows are escaped there.
type etcdHand struct{ *clientv3.Client }

func (h etcdHand) name(kind, key string) string {
	return "goferry/" + kind + "/" + strings.NewReplacer("/", "%2F", " ", "%20").Replace(key)
}

func (h etcdHand) read(ctx context.Context, key string) (fence int64, stored []byte, err error) {
	answer, err := h.Get(ctx, h.name("r", key))
	if err != nil || len(answer.Kvs) == 0 {
		return 0, nil, err
	}
	return answer.Kvs[0].ModRevision, answer.Kvs[0].Value, nil
}

func (h etcdHand) commit(ctx context.Context, key string, fence int64, behind bool, stored []byte) (int64, error) {
	ops := []clientv3.Op{clientv3.OpPut(h.name("r", key), string(stored))}
	if behind {
		ops = append(ops, clientv3.OpPut(h.name("p", key), ""))
	}
	return h.fenced(ctx, key, fence, ops)
}

func (h etcdHand) project(ctx context.Context, key string, fence int64, rows []entry) error {
	ops := []clientv3.Op{clientv3.OpDelete(h.name("p", key))}
	for i, e := range rows {
		value := appendEntry(binary.AppendUvarint(nil, uint64(i)), e)
		ops = append(ops, clientv3.OpPut(h.name("v", key)+"/"+fmt.Sprint(e.ID), string(value)))
	}
	_, err := h.fenced(ctx, key, fence, ops)
	return err
}

func (h etcdHand) fenced(ctx context.Context, key string, fence int64, ops []clientv3.Op) (int64, error) {
	answer, err := h.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(h.name("r", key)), "=", fence)).Then(ops...).Commit()
	switch {
	case err != nil:
		return 0, err
	case !answer.Succeeded:
		return 0, errRival
	}
	return answer.Header.Revision, nil
}
