// Package postgres keeps records and their views in PostgreSQL.
//
// [Migrate] makes the tables, [Open] makes a [DB] of a pgx pool, [New] its store with a view of one object per record,
// [NewRows] its store with a view of one row per entry. They are stores of the durable package: their methods, and how
// keys and bodies are stored, are there.
//
//	if err := postgres.Migrate(ctx, pool, postgres.Config{}); err != nil {
//		return err
//	}
//	db, err := postgres.Open(ctx, pool, postgres.Config{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	store := postgres.New[string](db, totals)
//
// # Writing
//
// A commit is one statement, and so is a projection, of however many rows; each goes to the server with its BEGIN and
// COMMIT in one round trip. What waits while a statement runs shares the next: writes of the same kind to different
// keys are one statement, whose arguments are arrays. A lone write waits for nobody, and there is no timer.
// [DB.Stats] counts.
//
// Each write is answered on its own: a conflict is a row that did not come back. If the server refuses a statement with
// several writes in it, they are run again one by one, so that none fails for its neighbour.
//
// # Isolation
//
// Transactions are read committed, and say so, whatever the default of the session. Nothing relies on the isolation:
// every write compares the fence in the row that it changes. Rows are locked in the order of their keys, and no lock is
// held between two calls.
//
// Fences come from a sequence. Logical replication does not copy sequences: set it forward before a replica made that
// way is written to.
//
// # Outcomes
//
// A write is refused, definitely, if the server said so of the statement, or if nothing was sent. What the server
// says when it ends the session is no answer to the write: SQLSTATEs 57P01 to 57P03, class 08, 40003, and every FATAL
// error leave the outcome unknown, as do a lost connection and a context that ended. A write whose callers have all
// left is cancelled; the server may have finished it.
//
// # Durability
//
// Open refuses a server with fsync or synchronous_commit off ([ErrUnsafe]) unless the configuration says [Relaxed],
// and a standby in any case. Later connections are not asked again, except that a read which a standby answers is
// refused ([ErrStandby]): it might say that nothing is pending. A synchronous standby adds what its settings promise;
// a failover to an asynchronous one loses answered writes.
//
// # The pool
//
// The pool is the user's: its size, time-outs and tracing. Each kind of write uses up to Config.Writers connections
// at once, a read or listing one. The stores work in every query mode of pgx, the simple protocol included, and
// through a pooler that pools transactions if the mode suits it. A connection that hears nothing more is given up
// when its callers have left, and holds its place in the pool for the 15 seconds that pgx allows it to say goodbye.
//
// # The schema
//
// The tables are record, view_row and schema_version. They hold one kind of records: another kind has a schema of its
// own. Keys are text in the order of their bytes, without NUL; bodies are bytea, so JSON is convert_from(body,
// 'UTF8')::jsonb. [Migrations] has the files for those who apply them by other means.
//
// # What was verified
//
// The tests run a private server. They kill a writing process twenty times and the server three times under load, cut a
// hundred requests, most after the server had answered, lose requests and replies of every write, cancel thousands of
// commits and compare every answer with the tables, under other isolation and through the simple protocol too. Where the
// machine allows it, they cut the power of the server's disk, which loses what was not synced and tears nothing.
// PgBouncer, hosted servers and CockroachDB were not tried.
package postgres
