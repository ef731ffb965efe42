// Package ferry carries inputs to a call in batches, with one lane for each key.
//
// Many goroutines submit inputs for a store that takes one write per key at a time. A ferry lines them up: at most one
// batch of a key is in flight, what arrives meanwhile forms the next batch, and every caller gets its own answer.
// That is group commit, for each key on its own:
//
//	lanes := ferry.PerKey(ferry.Config{}, Entry.Account, write.Provide(store).Call)
//	defer lanes.Close(ctx)
//	outcome, err := lanes.Submit(ctx, entry)
//
// [PerKey] and [PerKeyWeighed] make a ferry, [Config] bounds it. [Ferry.Submit] and [Ferry.SubmitAll] hand inputs in,
// [Ferry.Flush] and [Ferry.FlushKey] wait for them, [Ferry.Close] ends it, [Ferry.Stats] and [Observer] show it, and
// [LogObserver], [LogSlow] and [Observers] are observers to begin with.
//
// # Order
//
// Inputs of one key reach the call in the order of their acceptance, also if a batch before them failed.
// Between keys there is no order, but turns: lanes that have something to send queue for the slots of
// Config.MaxInFlight, first come, first served, and a lane with more to send joins the end after each batch. A hot key
// gets large batches, not more turns. A batch is closed as late as can be, when its slot is free.
//
// # Answers
//
// Every accepted input is answered exactly once: by the output of the call, or by an [*Error] that says whether it was
// sent. [NotSent] is false when the outcome is unknown, since the call failed, panicked, is still out, or its caller left.
// The remedy is the same for all of these: submit the same input again, with its identity, and a store that finds
// it in the record answers it without applying it twice.
//
//	for {
//		outcome, err := lanes.Submit(ctx, entry)
//		if err == nil || ctx.Err() != nil {
//			return outcome, err
//		}
//		// Not sent, or unknown: either way the same entry again, after a pause.
//	}
//
// # Bounds
//
// An input that Config.MaxQueued, MaxQueuedWeight or MaxQueuedPerKey has no room for is refused, or its caller waits: see
// [Overflow]. Whoever waits is not accepted yet and holds no shared room: waiters of a hot key wait for a place
// of their key first.
//
// # Cancellation
//
// A caller that leaves takes its input back if it is not sent yet, and otherwise returns at once with the outcome unknown.
// It never fails another: the context of a call has a deadline of its own, Config.BatchTimeout, and only the values
// of the first caller.
//
// # Failures of the call
//
// A panic or runtime.Goexit in a call is an error of its batch, with the stack. A call that does not return in time has
// its callers answered, and keeps its lane and its slot until it does: two calls of one key are never out at once.
//
// # Cost
//
// A lane with nothing to do costs nothing: no goroutine, no timer, no memory. The goroutines that make the calls are
// shared by all lanes, and leave when they were not needed for a tenth of a second.
package ferry
