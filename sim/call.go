package sim

import (
	"slices"

	"github.com/goferry/goferry/sim/simstore"
)

// set is a set of ids.
type set uint64

func setOf(ids []simstore.ID) (s set) {
	for _, id := range ids {
		s |= 1 << id
	}
	return s
}

func (s set) has(id simstore.ID) bool { return s&(1<<id) != 0 }

// within says whether t has all of s.
func (s set) within(t set) bool { return s&^t == 0 }

// call is what the laws remember of the call under way. All of it follows from what the process observed and from
// the store as it was when the call began, so the identity of a state covers it.
type call struct {
	Call
	number    int // in the trace
	ops       int
	path      []byte // one letter per operation
	expected  []byte // the path if nobody disturbs the call
	observed  digest // of everything that the call can know
	cancelled bool
	panicked  bool
	faults    int   // operations that met a fault
	lastErr   error // of an operation

	stored, rows       int // of the cell when the call began
	ownStored, ownRows int // thereof by this call

	known   set             // ids that the call saw in the log
	shown   set             // ids that the call knows to be in the view
	read    bool            // a read succeeded
	last    set             // ids in the log of the last read
	held    simstore.Record // what the call saw last, until a write or a read failed
	holds   bool
	cleared bool // the marker is known to be cleared
	missing set  // the last answer to that question
	fresh   bool // missing was asked after the last read or commit

	committed bool // a commit was acknowledged
	unknown   bool // a commit may have happened, or may still
	settled   bool // all inputs are known to be committed or rejected
	settledAt int  // disturbances until then
	rowErrs   []rowErr
}

type rowErr struct {
	id  simstore.ID
	err error
}

func (c *call) reset(spec Call) {
	*c = call{Call: spec, path: c.path[:0], expected: c.expected[:0], rowErrs: c.rowErrs[:0]}
}

// accepted are the ids that step does not reject.
func (c *call) accepted() (s set) {
	for _, in := range c.Inputs {
		if !in.Reject {
			s |= 1 << in.ID
		}
	}
	return s
}

// rowErr is the error of the last put of id, nil if there was none or it succeeded.
func (c *call) rowErr(id simstore.ID) (err error) {
	for _, e := range c.rowErrs {
		if e.id == id {
			err = e.err
		}
	}
	return err
}

func (c *call) anyRowFailed() bool {
	return slices.ContainsFunc(c.rowErrs, func(e rowErr) bool { return e.err != nil })
}

// inOrder says whether ids come in the order of the inputs.
func (c *call) inOrder(ids []simstore.ID) bool {
	for _, in := range c.Inputs {
		if len(ids) > 0 && ids[0] == in.ID {
			ids = ids[1:]
		}
	}
	return len(ids) == 0
}

func (c *call) count(op simstore.Op) (n int) {
	for _, l := range c.path {
		if l == letters[op] {
			n++
		}
	}
	return n
}

// letters abbreviate the operations in a path.
const letters = "rcpmwxl"

// What a call observes besides faults, whose numbers are powers of two up to 32.
const (
	conflicted = 100 + iota
	callerLeft
)

// observe is told of each answer, a fault being an answer too.
func (c *call) observe(m simstore.Marker, r simstore.Request, a simstore.Answer) {
	c.observed.add(uint64(r.Op))
	if a.Err != nil {
		c.lastErr = a.Err
	}
	switch {
	case r.Op == simstore.Put:
		c.rowErrs = append(c.rowErrs, rowErr{r.Row, a.Err})
		c.observed.add(uint64(c.ownRows))
		if a.Err == nil {
			c.shown |= 1 << r.Row
		}
	case a.Err != nil || c.panicked:
		c.holds = false
	case r.Op == simstore.Read:
		c.read, c.last, c.fresh = true, setOf(a.Record.Log), false
		c.sees(m, a.Record)
	case r.Op == simstore.Commit:
		c.committed, c.fresh = true, false
		c.sees(m, a.Record)
	case r.Op == simstore.Missing:
		c.missing, c.fresh = setOf(a.Rows), true
		c.shown |= setOf(r.Held.Log) &^ c.missing
		c.observed.add(uint64(c.missing))
	case r.Op == simstore.Project, r.Op == simstore.Clear:
		c.shown |= setOf(r.Held.Log)
		c.cleared = true
	}
}

func (c *call) sees(m simstore.Marker, r simstore.Record) {
	c.held, c.holds = r, true
	c.known |= setOf(r.Log)
	c.cleared = !m.Pending(r)
	if c.cleared {
		c.shown |= setOf(r.Log)
	}
	c.observed.record(r)
}
