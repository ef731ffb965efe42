// Package lanes runs the real lanes of package ferry, with the real code of fold and projected behind them, in
// a simulated world: several processes over one store, with callers, faults, time and Close as steps that are taken one
// at a time.
//
// A [Scenario] says who calls and how much may go wrong. A [Chooser] makes one history of it, with [Run]; [Explore]
// makes every history. Each is held to the laws, see [Law], after every step, and one that breaks a law is answered
// as a [Trace] that can be read, drawn, and replayed from its schedule with [Replay].
//
//	synctest.Test(t, func(t *testing.T) {
//		report := lanes.Explore(lanes.Scenario{
//			Layout:  sim.LogOnly,
//			Callers: lanes.Callers("p k a", "p k b", "q k c", "q k d"),
//			Retries: 1,
//			Limits:  lanes.Limits{Preemptions: sim.Unbounded},
//		}, lanes.Search{})
//	})
//
// # Bubbles
//
// Lanes have goroutines and timers of their own, so everything here must be called in a bubble of testing/synctest, and
// panics elsewhere. A step releases one thing, then waits until the bubble has come to rest. Time stands still
// but for the steps that let it pass. A lock that is held while an operation is out stops the bubble for good:
// give such tests a short -timeout. So does a goroutine that is left behind, with a panic that names the law.
//
// # Steps
//
// Operations of the store park, and are offered in the order of process, key and kind, never in that of their arrival:
// two goroutines that one step wakes may park in either order. Callers arrive, callers leave, a process is closed, its
// Close gives up, and time passes, all as steps. Callers of one process and key arrive in the order in which the
// scenario lists them: the other orders are those of another scenario, with the inputs exchanged.
//
// Two timers of a process that end in the same instant may run in either order: choose durations that are no
// multiples of each other.
//
// # Laws
//
// The laws are checked against what callers, calls and the store have seen, and [ferry.Ferry.Stats]. What a
// ferry that lets callers wait accepts in which order is left to that package's own model; here it is held to what any
// acceptance owes.
package lanes
