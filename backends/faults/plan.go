package faults

import (
	"fmt"
	"time"
)

// Op is an operation of a store, as [backends.Error] names it.
type Op string

// The operations of stores.
const (
	Read    Op = "read"
	List    Op = "list"
	Missing Op = "missing"
	Commit  Op = "commit"
	Project Op = "project"
	Put     Op = "put"
	Clear   Op = "clear"
)

// allOps is in the order in which the operations are given their draws.
var allOps = []Op{Read, List, Missing, Commit, Project, Put, Clear}

// Plan says which faults meet which operations. The zero Plan has none: the switches of [Faults] still work.
type Plan struct {
	// Seed is where the draws start: the same seed, the same draws. The n-th commit meets the same faults whatever
	// the reads do, and, if one rate is changed, the others go on as before. 0 is a seed like any other.
	Seed uint64

	// The faults of each operation. Those of Put are drawn for each row on its own.
	Read, List, Missing, Commit, Project, Put, Clear Mix

	// LateBy bounds how late a late write is: it lands before one of so many next calls, and which one is drawn.
	// Calls that do not reach the store count, but nothing lands before them. Default 8. If it is negative, late
	// writes land by [Faults.Land] alone.
	LateBy int

	// Hook, if set, is told of each call, and each row of a put, before it is carried out, and of each late
	// write that lands. It is called by the goroutines of the calls, several at once.
	Hook func(Event)

	_ struct{}
}

// Mix is the faults of one operation. A call that is met by several of Throttle, Lost and Late gets the first.
type Mix struct {
	// Throttle refuses the call: nothing is written, and its error is [backends.ErrRefused].
	Throttle Rate
	// Lost carries the call out and loses its answer: its error is [backends.ErrUnknown]. A listing breaks off
	// within its first eight keys.
	Lost Rate
	// Late carries the write out later, before another call: its error is [backends.ErrUnknown]. It is fenced when
	// it lands, lands even if its context has ended, and its answer goes nowhere. Only writes can be late.
	Late Rate
	// Latency is the time that a call takes there and back; where between the two the store acts is drawn. A context
	// that ends meanwhile ends the call with [backends.ErrUnknown], whether it has reached the store or not.
	Latency Latency
	// Outages are the times, from [New] on, in which calls are refused.
	Outages []Window
	// CrashAfter is a crash point: the call of this number, counted from 1 (for Put, the row), is the last to be
	// carried out, as if [Faults.Crash] came after it. 0 is none.
	CrashAfter int

	_ struct{}
}

// Rate says which calls a fault meets: those counted by N and M, and those drawn by P. The zero Rate meets none.
type Rate struct {
	// N of every M calls of an operation, evenly spread: 1 of 9 is the ninth, the eighteenth, and so on.
	N, M int
	// P is the probability of each call.
	P float64
}

// Latency is a time between Min and Max, uniformly drawn, and fixed if they are equal.
type Latency struct{ Min, Max time.Duration }

// Window is the time from From until before To.
type Window struct{ From, To time.Duration }

// Event is what a [Plan] has in store for one call, or one row of a put.
type Event struct {
	// Op and Key are those of the call. Key is nil for a listing.
	Op  Op
	Key any
	// Fault is the fault that meets it, one of the Errs of this package, or nil.
	Fault error
	// Landed says that this is a late write, and that it is carried out now.
	Landed bool
}

func (p Plan) mixOf(op Op) Mix {
	return map[Op]Mix{
		Read: p.Read, List: p.List, Missing: p.Missing,
		Commit: p.Commit, Project: p.Project, Put: p.Put, Clear: p.Clear,
	}[op]
}

func (p Plan) mustBeValid() {
	p.Read.mustBeValid("Read", false)
	p.List.mustBeValid("List", false)
	p.Missing.mustBeValid("Missing", false)
	p.Commit.mustBeValid("Commit", true)
	p.Project.mustBeValid("Project", true)
	p.Put.mustBeValid("Put", true)
	p.Clear.mustBeValid("Clear", true)
}

func (m Mix) mustBeValid(op string, writes bool) {
	must := func(ok bool, field, rule string) {
		if !ok {
			panic(fmt.Sprintf("faults: Plan.%s.%s: %s", op, field, rule))
		}
	}
	for field, rate := range map[string]Rate{"Throttle": m.Throttle, "Lost": m.Lost, "Late": m.Late} {
		must(rate.N >= 0 && rate.N <= rate.M, field, "N is not between 0 and M")
		must(rate.P >= 0 && rate.P <= 1, field, "P is not between 0 and 1")
	}
	must(writes || m.Late == Rate{}, "Late", "only writes can be late")
	must(m.Latency.Min >= 0 && m.Latency.Min <= m.Latency.Max, "Latency", "Min is not between 0 and Max")
	must(m.CrashAfter >= 0, "CrashAfter", "is negative")
	for _, w := range m.Outages {
		must(w.From >= 0 && w.From < w.To, "Outages", "From is not between 0 and To")
	}
}
