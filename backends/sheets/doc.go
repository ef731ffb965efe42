// Package sheets keeps a durable, fenced write queue in an ordinary Google spreadsheet, and applies it to tables in
// the same file: exactly once, in order, from any number of processes.
//
// A spreadsheet has no locks and no conditional writes. This package makes every write one atomic batch that
// lands only as the successor of the commit that its writer has read; see "The fence" below. On that it builds the
// round trip of goferry: a [Transaction] is committed to the queue first, and then projected onto the tables.
//
//	queue := sheets.Open(service, spreadsheetID, sheets.Config{Tables: []sheets.Table{
//		{Name: "Users", Key: "id", Columns: []string{"id", "name"}},
//	}})
//	err := queue.Initialize(ctx)
//	outcome, err := queue.Submit(ctx, sheets.Transaction{ID: "t-1", Tasks: []sheets.Task{
//		sheets.Insert("t-1/1", "Users", "id", sheets.Row{"id": "u1", "name": "Ann", "_version": 1}),
//	}})
//
// # Writing
//
// [Queue.Submit] commits and applies; transactions of concurrent callers become one append and one apply, two writes
// and no reads a batch. [Queue.EnqueueTasks] only commits, and [Queue.ProcessTaskQueue] or the faster
// [Queue.ProcessTaskQueueBulk] apply later. [Queue.Run] is the sweeper that finishes what others left, [Queue.Resume] is
// one such visit, [Receipt.Wait] waits for a verdict.
//
// # Looking and mending
//
// [Queue.ReadCanonical] and [Queue.ReadTaskQueueStatus] read. [Queue.SyncProjection] rewrites a visible sheet.
// [Queue.Reset] and [Queue.Discard] end the wait of a failed transaction, [Queue.Cleanup] removes old rows, and
// [Queue.RepairFence] cures a broken fence.
//
// # What is promised
//
// Every acknowledged transaction is applied exactly once, in the order of its sequence, or it fails with a [Code] and
// has no effect; all of its tasks together, across tables. This holds whatever becomes of answers, processes
// and clocks: for batches that are lost, cut, late, or sent twice. It holds under people's edits of visible sheets at any
// time, and of internal sheets while no batch is between its read and its write; Submit under load reads in the answer
// of its last write, at most two seconds before. Edits inside that window are detected, counted in
// [QueueStatus].Tampered and Holes, and stop nobody.
//
// A transaction that fails neither rolls back nor blocks others. One that cannot run yet, because a row of it is missing,
// another process has claimed it or its attempt is to be repeated, holds back every later one: order comes first. A row
// that somebody spoiled fails its own transaction. A row set to done by hand cannot be told from a real one; a
// row set from failed to pending by hand is noticed by the next process that starts.
//
// Ids are the memory: a task id is answered with its first sequence for as long as [Queue.Cleanup] keeps the row. After
// an unknown outcome submit the same transaction again, here or in another process. A replay that comes after the
// retention is a new transaction. Tasks that other writers redacted before there were fingerprints are
// recognised by their id alone.
//
// # The fence
//
// With [MetadataFence] each batch creates the developer metadata entry whose id belongs to its number; an id in use
// fails the batch. With [SwapFence] it deletes the sheet of the number before. Either way one of all batches for
// a number lands, however late, and an answer that proves nothing is met by sending the identical bytes
// again. A batch that the service refuses is not believed to be refused until an empty commit, a probe, has taken
// its number.
//
// # What is assumed
//
// Three things are assumed of the live service, and no option turns them off: batches on one spreadsheet are applied one
// after the other; one answer shows one moment; and a metadata id, or a deleted sheet, is refused the second time,
// which is documented. Not assumed are fresh reads, texts of errors, the meaning of a 429 or 500, or how lengths
// are counted: the tests answer those questions both ways (package sheetstest). None of it was run against the
// live service here.
//
// # Limits
//
// A cell holds 50,000 characters, and so does a payload; a transaction fits one request of 1.8 MB. The quota is usually 60
// reads and 60 writes a minute and user: that is 30 batches a minute of up to 256 transactions each. Throttling is waited out,
// for about a minute. Do not run another kind of writer of the same queue at the same time.
//
// # Security
//
// The queue is part of the sensitive data surface. Whoever can open the file can read the payloads of transactions that
// wait or have failed, hidden sheets included. Payloads are redacted when a transaction is done, by [Queue.Discard], and by
// [Queue.Cleanup]. Errors and the queue's error columns hold ids, titles and words of this package, never payloads,
// key values, or texts of the service.
package sheets
