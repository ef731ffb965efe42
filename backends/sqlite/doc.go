// Package sqlite keeps records and their views in an SQLite file: a durable store without a server.
//
// [Open] opens the file, [New] makes its store with a view of one object per record, [NewRows] its store with a view
// of one row per entry. They are stores of the durable package: their methods, and how keys and bodies are stored,
// are there.
//
//	db, err := sqlite.Open(ctx, "accounts.db", sqlite.Config{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	store := sqlite.New[string](db, totals)
//
// # Durability
//
// A write that was answered survives the end of the process and a power cut: the file has a write-ahead log, and every
// transaction is synced before it is answered. These settings are read back on every connection, with the version of
// SQLite, and Open fails with [ErrUnsafe] if they did not take. [Relaxed] has to be named.
//
// If a COMMIT fails at the disk nobody knows what is on it, and syncing again would prove nothing. The outcome of its
// writes is unknown, and the DB writes no more ([ErrStopped]). Open the file again: what is there then was committed.
//
// # Writing
//
// One goroutine writes. It takes what waits into one transaction and so shares one sync among all keys that are
// written at once; a lone write waits for nobody, and there is no timer. Each write is answered on its own: a
// conflict is a row count, and a statement that fails is left out and the others run again without it. [DB.Stats]
// counts.
//
// A write is one statement: a commit, a projection of a view, a clear. A put of rows and a whole projection of rows
// are one transaction, in which 64 rows share a statement. Every write compares and raises the fence of the record by
// itself; nothing is read in advance, and nothing is locked between two calls.
//
// # Processes
//
// The file may be open in any number of processes of one machine. One writes at a time, and the others wait up to
// Config.BusyTimeout; a write that waited longer is refused. Reads wait for nobody. A network file system will not do:
// the processes share memory.
//
// # Outcomes
//
// A write is refused, definitely, if the file was busy, full, read-only or closed, or the record too large for SQLite
// (1 GB). A context that ends leaves its outcome unknown: the transaction may go on, since it has neighbours. So does
// everything else that is not known to be a refusal.
//
// # The file
//
// The tables are record, row and deleted; keys are TEXT, bodies BLOB. Any program may read them. The schema has a
// version, which Open raises in one transaction; it refuses the file of a later version ([ErrNewerSchema]) and of
// another program ([ErrForeignFile]).
//
// The settings are journal_mode WAL, synchronous FULL (NORMAL if Relaxed), busy_timeout, BEGIN IMMEDIATE, fullfsync
// and checkpoint_fullfsync; the tables are STRICT, and hold one kind of records: another kind needs a file of its
// own. SQLite's default for fsync is kept: modernc.org/sqlite.Fdatasync makes a commit faster on Linux, for the whole
// process, and is for the program to choose.
//
// # What was verified
//
// The tests kill a writing process twenty times and look for lost, doubled and half projected entries; they cancel
// thousands of commits and compare every answer with the file; they let several processes open a new file and write
// one record at once; they take the room for a COMMIT away; they count statements and transactions. Where the
// machine allows it, they cut the power of the disk, which loses what was not synced and tears nothing, and make
// syncs slow and fail. A disk that lies was not tried, nor were Windows and macOS.
package sqlite
