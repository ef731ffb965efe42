package sim

import (
	"strings"

	"github.com/goferry/goferry/sim/simstore"
)

// Layout is what is written for a key.
type Layout uint8

// The layouts.
const (
	// WholeRecord commits and projects a view of one object.
	WholeRecord Layout = iota
	// Rows commits and projects a view of one row per entry.
	Rows
	// LogOnly commits: a FoldWrite alone, without a view.
	LogOnly
)

// String answers the layout in words.
func (l Layout) String() string { return [...]string{"whole record", "rows", "log only"}[l] }

// Input is what a client submits. Its position in the log is the answer, -1 if it is rejected.
type Input struct {
	ID simstore.ID
	// Reject makes step reject the input on its merits.
	Reject bool
}

// Call is one thing that a process does: a batch of inputs for a key, or, without inputs, a visit of a sweeper
// (Resume), or a look at the record and its view, as a query has.
type Call struct {
	Key    string
	Inputs []Input
	Look   bool
}

// Submit is a call with one input per letter. A capital is an input that step rejects.
func Submit(key, letters string) Call {
	c := Call{Key: key}
	for _, l := range strings.ToLower(letters) {
		c.Inputs = append(c.Inputs, Input{ID: simstore.ID(l - 'a')})
	}
	for i, l := range letters {
		c.Inputs[i].Reject = l < 'a'
	}
	return c
}

// Resume is a visit of a sweeper.
func Resume(key string) Call { return Call{Key: key} }

// Look is a query.
func Look(key string) Call { return Call{Key: key, Look: true} }

// Process makes calls, one after the other. After a crash it goes on with the next call, and remembers nothing: it is
// a new process.
type Process struct {
	Name  string
	Calls []Call
}

// Faults is a set of kinds of fault.
type Faults uint8

// The kinds of fault. Each meets one operation of a process and is offered where it makes sense.
const (
	// FailRead answers an error to a read.
	FailRead Faults = 1 << iota
	// Refuse answers a definite error to a write, which does not happen.
	Refuse
	// Lose answers unknown to a write, which happens.
	Lose
	// Delay answers unknown to a write, which stays in the network and lands whenever the chooser says so.
	Delay
	// Outage refuses a write and every later one of its kind (for a row: every one of that row) until all outages
	// heal.
	Outage
	// Panic is a defect of the store: the operation panics and nothing happens.
	Panic

	// NoFault is the empty set.
	NoFault Faults = 0
	// EveryFault is the full set.
	EveryFault = FailRead | Refuse | Lose | Delay | Outage | Panic
)

const faultKinds = 6

var faultNames = [faultKinds]string{"fails", "refused", "answer lost", "delayed", "outage begins", "panics"}

// String answers the kinds in words.
func (f Faults) String() string {
	var names []string
	for i, name := range faultNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// fit answers the kinds that can meet op.
func (f Faults) fit(op simstore.Op) Faults {
	switch {
	case op == simstore.Look:
		return NoFault
	case op.Writes():
		return f &^ FailRead
	}
	return f & (FailRead | Panic)
}

// Unbounded is the value of [Limits.Preemptions] for no bound.
const Unbounded = -1

// Limits bounds what may go wrong in one run.
type Limits struct {
	// Faults is how many operations may meet one of Kinds. Operations during an outage do not count.
	Faults int
	Kinds  Faults
	// Crashes is how many times a process may die. It dies at a write, which may still land; dying at a read is no
	// different from dying at the write before.
	Crashes int
	// Cancels is how many callers may leave.
	Cancels int
	// Preemptions is how many times a process that could go on in the middle of a call may have to wait for another,
	// or Unbounded.
	Preemptions int
}

// Broken is something that is refused for good: an operation of a key, and for a put only that row.
type Broken struct {
	Op  simstore.Op
	Key string
	Row simstore.ID
}

func (b Broken) meets(r simstore.Request) bool {
	return b.Op == r.Op && (b.Key == "" || b.Key == r.Key) && (b.Op != simstore.Put || b.Row == r.Row)
}

// Mistakes are rules that the code around the library can break, each to show that the simulation notices. The zero
// value makes none.
type Mistakes struct {
	// AppliesReplays: step applies an input that the record already holds.
	AppliesReplays bool
	// AppendsInPlace: step appends to the log it was given.
	AppendsInPlace bool
	// AnswersEarly: inputs are answered Projected straight after the commit.
	AnswersEarly bool
	// ClearsEarly: the marker is cleared although rows are missing.
	ClearsEarly bool
	// NoSweeper: nobody sweeps at the end.
	NoSweeper bool
}

// Scenario is a world before anything has happened in it. Give every process at least one call.
type Scenario struct {
	Name      string
	Layout    Layout
	Store     simstore.Rules
	Mistakes  Mistakes
	Processes []Process
	// Retries is how often the schedule lets a call try again.
	Retries int
	Broken  []Broken
	Limits  Limits
}

func (s Scenario) mustMakeSense() {
	if len(s.Processes) == 0 {
		panic("sim: Scenario.Processes is empty")
	}
	for _, p := range s.Processes {
		for _, c := range p.Calls {
			if s.Layout == LogOnly && !c.Look && len(c.Inputs) == 0 {
				panic("sim: Scenario.Processes: a Resume, and Layout is LogOnly, which has nothing to resume")
			}
		}
	}
}

// keys answers the keys in the order of their first use.
func (s Scenario) keys() (keys []string) {
	seen := map[string]bool{}
	for _, p := range s.Processes {
		for _, c := range p.Calls {
			if !seen[c.Key] {
				seen[c.Key] = true
				keys = append(keys, c.Key)
			}
		}
	}
	return keys
}
