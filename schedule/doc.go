// Package schedule decides whether and when to run something again, and runs it.
//
// A [Schedule] is built from a few small ones and then followed by [Retry] or [Repeat]:
//
//	policy := schedule.Exponential(10 * time.Millisecond).Capped(time.Second).Jittered().And(schedule.Recurs(5))
//	user, err := schedule.Retry(ctx, policy, fetchUser)
//
// Methods apply to what stands before them and to nothing after: Jittered().Capped(d) never waits longer than d, while
// Capped(d).Jittered() still spreads the delays that were capped, around d.
// Capped(d).JitteredBetween(0.5, 1) does both.
//
// The schedules mean what those of ZIO 2 mean, without the outputs. There are three differences: a
// [Schedule.Repeated] that would begin for ever without going on ends instead, a negative delay is zero, and a [Run]
// that has ended stays so.
//
// # Values
//
// A Schedule is immutable and may be kept in a package-level variable. Two runs of one value, at once or one after the
// other, never affect each other. Functions given to While, Until, Delayed, Tap and [WhileFailure] are called by every
// run, so they must be safe for concurrent use if the schedule is used concurrently. The zero value is [Stop].
//
// # Delays
//
// Delays are never negative, and one that would pass the largest [time.Duration] is that duration, for any number of
// steps of any combination.
//
// # Time
//
// Time is monotonic and begins, for each run, with its first step: the end of the first run of what is retried or
// repeated. [Fixed], [Windowed], [Schedule.UpTo], [Schedule.Within] and [Schedule.ResetAfter] count from there, or,
// behind [Schedule.Then] or inside [Schedule.Repeated], from the step on which they begin.
// In a testing/synctest bubble the time is the bubble's.
//
// # Jitter
//
// Jitter is uniform and drawn anew for each step of each run, without a lock that runs could contend for.
//
// # Contexts
//
// A context that ends stops a wait at once, and nothing runs any more. The error then keeps what failed last beside
// the context's error; see [Retry].
//
// # Panics
//
// A bad argument is a mistake in the program: it panics where the schedule is built, and the message names the
// argument. Panics of the functions a schedule is given, and of what it runs, are not recovered.
//
// # Index
//
//   - Counts: [Stop], [Once], [Recurs], [Forever].
//   - Delays: [Spaced], [Linear], [Exponential], [ExponentialFactor], [Fibonacci], [Durations].
//   - Grids: [Fixed], [Windowed].
//   - Two schedules: [Schedule.And], [Schedule.Or], [Schedule.Then].
//   - Beginning anew: [Schedule.Repeated], [Schedule.ResetAfter].
//   - Limits of time: [Schedule.UpTo], [Schedule.Within].
//   - Errors: [Schedule.While], [Schedule.Until], [WhileFailure], [Schedule.Tap].
//   - Changed delays: [Schedule.Jittered], [Schedule.JitteredBetween], [Schedule.Capped], [Schedule.AddDelay],
//     [Schedule.Delayed].
//   - Following one: [Retry], [RetryFailures], [Repeat], [Schedule.Start] and [Run.Next], [Sleep].
package schedule
