// Package projected writes batches to stores that keep a view beside the record: it commits, then projects.
//
// The commit, a fold.FoldWrite, makes the entries of a batch durable and marks the record's view as behind. The projection
// brings the view up to date and clears the marker. A process that dies between the two leaves a record that any process
// can finish:
//
//	var write = projected.WholeRecord(
//		fold.New[*StoreError](Entry.Ident, Store.Read, step, Store.Commit, retry),
//		Record.Pending,
//		Store.Project,
//	)
//
//	outcomes, err := write.Provide(store).Call(ctx, key, entries) // or as the call of a ferry
//	left, err := write.Provide(store).Resume(ctx, key)            // anywhere, any time
//
// [WholeRecord] is for a view of one object per record, [New] with [Rows] for one row per entry. A [Sweeper] resumes
// whatever is pending.
//
// # Answers
//
// A call fails only when its commit is not known to have happened. After the commit every input has an [Outcome] of its
// own, whatever becomes of the projection: Projected, the view is known to include it, or Committed, with the cause.
// Both are successes.
//
// # What the store promises
//
// The commit is fenced on the record that was read and never moves the stored marker backwards. A projection, or the clear
// of the marker, succeeds only if the store still holds the record it was made from, its fence and its marker: the
// marker keeps a second projection out, and the fence keeps a stale one from clearing what a later commit set. Rows are
// written only if absent, and a row is a function of its entry alone. The zero record is not pending.
//
// # Recovery
//
// Nothing is kept between calls: the marker is in the record, so "read again and go on" is all of recovery. A client's
// replay, the next batch of the key, and a sweeper each finish a pending record, beside one another and in any number
// of processes.
//
// # Failures
//
// A projection that fails with an E is resumed: read again and projected if still pending, with the schedule of the fold.
// One that answers with entries pending has not failed, and is not retried by the call: the store owns the retries of its
// rows. Defects, panics and ended contexts are not retried either.
package projected
