package sim

import (
	"maps"
	"slices"

	"github.com/goferry/goferry/sim/simstore"
)

// Coverage counts the situations that runs have been in, by name. A search that has not seen a situation says nothing
// about it: see [Coverage.Unseen].
type Coverage map[string]int

// Add adds the counts of other.
func (c Coverage) Add(other Coverage) {
	for name, n := range other {
		c[name] += n
	}
}

// Unseen answers the situations of a set of layouts that were never seen: each kind of fault at each operation, a crash
// at each write, a conflict at each fenced write, each answer, and what makes a call take another way.
func (c Coverage) Unseen(layouts ...Layout) []string {
	unseen := map[string]bool{}
	for _, l := range layouts {
		for _, name := range situations(l) {
			if c[name] == 0 {
				unseen[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(unseen))
}

var layoutOps = [...][]simstore.Op{
	WholeRecord: {simstore.Read, simstore.Commit, simstore.Project},
	Rows:        {simstore.Read, simstore.Commit, simstore.Missing, simstore.Put, simstore.Clear},
	LogOnly:     {simstore.Read, simstore.Commit},
}

func situations(l Layout) []string {
	names := []string{
		"answer failed", "answer rejected", "answer committed", "batch of more than one", "retries exhausted",
		"late write landed", "late write refused", "a caller left",
	}
	if l != LogOnly {
		names = append(names, "answer projected", "replay found pending", "projection exhausted", "resume failed")
	}
	if l == Rows {
		names = append(names, "batch answered in part", "resume left rows")
	}
	for _, op := range layoutOps[l] {
		for k := range faultKinds {
			if EveryFault.fit(op)&(1<<k) != 0 {
				names = append(names, faultAt[k][op])
			}
		}
		if op.Writes() {
			names = append(names, crashAt[op])
		}
		if op.Writes() && op != simstore.Put {
			names = append(names, conflictAt[op])
		}
	}
	return names
}

// The names of situations at an operation, made once: they are counted at every step.
var faultAt, crashAt, conflictAt = func() (faults [faultKinds][simstore.Ops]string, crashes, conflicts [simstore.Ops]string) {
	for op := range simstore.Ops {
		for k, name := range faultNames {
			faults[k][op] = op.String() + " " + name
		}
		crashes[op] = "crash at " + op.String()
		conflicts[op] = op.String() + " conflict"
	}
	return faults, crashes, conflicts
}()
