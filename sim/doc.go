// Package sim runs the code of the fold, projected and schedule packages in a simulated world, in which everything that
// may vary is chosen: which process goes on, which write gets lost or lands late, who crashes and when.
//
// A [Scenario] says who takes part and how much may go wrong. A [Chooser] makes one history of it, with [Run] or,
// faster, with a [Checker]; [Explore] makes every history. Each is held to the laws, see [Law], and one that breaks a
// law is answered as a [Trace] that can be read, and replayed from its schedule of choices with [Replay].
//
//	report := sim.Explore(sim.Scenario{
//		Processes: []sim.Process{
//			{Name: "w1", Calls: []sim.Call{sim.Submit("k", "ab")}},
//			{Name: "w2", Calls: []sim.Call{sim.Submit("k", "c")}},
//			{Name: "s", Calls: []sim.Call{sim.Resume("k")}},
//		},
//		Retries: 1,
//		Limits:  sim.Limits{Faults: 1, Kinds: sim.FailRead | sim.Delay, Preemptions: 3},
//	}, sim.Search{})
//
// # Processes
//
// A process makes calls, on a coroutine that parks at every operation of the store. The world serves one operation at a
// time, so a history has no races, takes no time and depends on nothing but the choices. Code that starts goroutines of
// its own cannot be run this way.
//
// # Faults
//
// A write that is refused did not happen. One whose answer is lost did. One that is delayed may happen at any later
// moment, or never: when all calls have returned, one sweep must finish every view without it, and only then it lands.
//
// A process crashes at a write, which is then in the network. Its context ends, and its store becomes inert: every
// operation fails at once and does nothing. Code that goes on for more than 100 operations then breaks the law [Ends].
//
// # Every history
//
// Explore looks at each state once, however many histories lead there. What a process will do is taken to follow from
// what the call under way has observed: the library keeps nothing between calls. Laws of states and answers lose nothing
// by that. Anything about whole histories, such as linearizability, needs the traces of many calls of Run.
//
// Bounds on faults and preemptions keep an exploration small, and few are needed: [Deepen] raises them step by step, so
// that its counterexample is a smallest one.
//
// # Vacuity
//
// A simulation that has never seen a fault proves nothing. [Coverage] counts the situations that were seen, and
// [Coverage.Unseen] lists those that were not: check it.
//
// # Stores of your own
//
// All of the above runs on a modelled store. [TestStore] and [TestRowStore] run on yours, as it is: they check it against
// what fold and projected ask of a store, and say which law it breaks, what to fix, and the smallest history that shows
// it. One test of about ten lines is all there is to write.
//
// More powers let them do more harm. A test that can delete, reopen and share a store gives [WithDelete], [WithReopen] and
// [WithSecondHandle]; an embedded store [WithChild], [WithPowerCuts] and [WithSyncFaults]; the client of a server
// [WithDial] and [WithServer]; and any store that has limits [WithLimit]. These use real processes, disks and
// connections, and so real time, on which nothing depends.
package sim
