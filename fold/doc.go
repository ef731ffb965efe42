// Package fold writes batches of inputs to a store that takes one conditional write per key.
//
// A [FoldWrite] reads the record of a key, folds the inputs of a batch into it one after the other, and writes the
// result once, fenced on the record that was read. When the write does not come through it reads again and folds the
// same inputs into what it finds.
//
//	var write = fold.New[*StoreError](Entry.Ident, Store.Read, step, Store.Write,
//		schedule.Exponential(10*time.Millisecond).Jittered().And(schedule.Recurs(5)))
//
//	answers, err := write.Provide(store).Call(ctx, key, entries)
//
// The functions take the environment where a method has its receiver, so a store's method expressions fit as they are,
// and one package-level variable serves every store that is provided to it. Call has the shape that a ferry asks for.
//
// # Once
//
// An entry is applied once, however often it is submitted, as long as Step finds in the record what was applied
// before. A write whose answer was lost is found by the next read. Nothing is kept between calls: the store is the
// only source of truth, and any process can go on where another stopped.
//
// # Cost
//
// An attempt is one read and at most one write: none when no input changes the record, as with replays. FoldWrite starts
// no goroutine and imports the standard library and the schedule package only.
//
// # Answers
//
// Answers are positional: the n-th is what Step said to the n-th input in the attempt that was stored. Step runs in
// input order and sees what earlier inputs of the batch did. No identities are compared: a second input with
// the same identity is a replay because Step finds the first.
//
// # Failures
//
// A typed failure, an error that is or wraps an E, is retried as the schedule says. Everything else is a defect and ends
// the call: other errors, and panics of the user's functions. So does an ended context, which is looked at first. With
// E = error everything but a panic and an ended context is retried. A call that ends so answers an [*Error], which
// says whether its writes are known not to have happened.
package fold
