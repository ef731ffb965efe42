package lanes

import (
	"slices"

	"github.com/goferry/goferry/sim"
)

// Coverage counts the situations that histories have been in, by name.
type Coverage = sim.Coverage

var coverageOfEnd = map[Faults]string{NoFault: "a call returned", Panic: "a call panicked", Goexit: "a call ended its goroutine"}

// situations are what an exploration of lanes should have seen.
var situations = []string{
	"batch of more than one", "overloaded", "waited for room", "out of patience", "withdrawn",
	"unknown after leaving in flight", "still out", "not sent at close", "close with one out and one queued",
	"linger ended by time", "linger ended by a full batch", "linger ended by the key's bound",
	"linger ended by the shared bound", "linger ended by close",
	"a call panicked", "a call ended its goroutine", "an answer after a defect",
	"read refused", "commit refused", "commit answer lost",
}

// Unseen answers the situations that were never seen: each way to be answered, each end of a linger, each end of a
// call, a Close in the middle, and a conflict in each of processes. A search that has not seen a situation says nothing
// about it.
func Unseen(c Coverage, processes ...string) (unseen []string) {
	all := slices.Clone(situations)
	for _, p := range processes {
		all = append(all, "conflict in "+p)
	}
	for _, name := range all {
		if c[name] == 0 {
			unseen = append(unseen, name)
		}
	}
	return unseen
}
