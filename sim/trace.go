package sim

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/sim/simstore"
)

// Trace is one run: what happened, and whether a law was broken.
type Trace struct {
	Scenario Scenario
	// Schedule is what the chooser chose. Replay of it makes the same trace.
	Schedule []int
	Steps    []Step
	// Calls are the calls in the order of their first operations.
	Calls []Made
	// Violation is nil if every law held. It then happened in the last step.
	Violation *Violation
}

// Step is one thing that happened.
type Step struct {
	// Process is who did it, or whose write it was; empty for the end of outages.
	Process string
	// Op is an operation of the store, or empty.
	Op  string
	Key string
	// IDs are what the operation carried.
	IDs []simstore.ID
	// Event says what was unusual: the fault, the crash, a late landing. Mostly empty.
	Event string
	// Answer is what the store said, empty if nobody heard it.
	Answer string
	// Returned says what the call answered that returned after this step.
	Returned string
	// After is the store after the step, one cell per key.
	After []State
	// Network are the writes that are still out.
	Network []string
}

// State is what the store has of a key.
type State struct {
	Key  string
	Cell simstore.Cell
}

// Made is a call that was made.
type Made struct {
	Process string
	Call    Call
	// Began and Ended number the steps, from 1, of the first and the last operation. Ended is 0 if the call did
	// not return: its process crashed.
	Began, Ended int
	// Outcomes is the answer to a batch, one per input.
	Outcomes []Outcome
	// Left is the answer of a visit.
	Left projected.Projection[simstore.ID]
	// View is the answer to a look, and Log the log at that moment.
	View, Log []simstore.ID
	Err       error
}

// String says what was answered: nothing if the process crashed.
func (r Made) String() string {
	switch {
	case r.Ended == 0:
		return "nothing"
	case r.Call.Look:
		return fmt.Sprintf("view %v", r.View)
	case r.Err != nil && len(r.Call.Inputs) > 0:
		return "failed: " + r.Err.Error()
	case r.Err != nil:
		return "resume failed: " + r.Err.Error()
	case len(r.Call.Inputs) == 0 && len(r.Left) == 0:
		return "nothing pending"
	case len(r.Call.Inputs) == 0:
		return fmt.Sprintf("still pending: %v", r.Left)
	}
	var answers []string
	for i, out := range r.Outcomes {
		if i == len(r.Call.Inputs) {
			answers = append(answers, "and more")
			break
		}
		a := fmt.Sprintf("%v %v", r.Call.Inputs[i].ID, out.Status)
		if out.Result == Rejected {
			a += " (rejected)"
		}
		answers = append(answers, a)
	}
	return strings.Join(answers, ", ")
}

// note begins the step of an option.
func (w *world) note(o Option) {
	if w.trace == nil {
		return
	}
	switch o.kind {
	case heal:
		w.noteStep(Step{Event: "outages end"})
		return
	case deliver:
		l := w.network[o.letter]
		w.noteStep(Step{Process: l.from, Op: l.req.Op.String(), Key: l.req.Key, IDs: argument(l.req), Event: "lands late"})
		return
	}
	p := w.processes[o.process]
	s := Step{Process: p.spec.Name, Op: p.req.Op.String(), Key: p.req.Key, IDs: argument(p.req)}
	switch {
	case o.kind == crash:
		s.Event = "crashes, and the write may land"
	case o.kind == cancel:
		s.Op, s.IDs, s.Event = "", nil, "the caller leaves"
	case o.fault != NoFault:
		s.Event = o.fault.String()
	}
	w.noteStep(s)
}

func (w *world) noteStep(s Step) {
	if w.trace != nil {
		w.finishStep()
		w.trace.Steps = append(w.trace.Steps, s)
	}
}

// finishStep adds the state after the last step.
func (w *world) finishStep() {
	if w.trace == nil || len(w.trace.Steps) == 0 {
		return
	}
	s := &w.trace.Steps[len(w.trace.Steps)-1]
	for _, key := range w.store.Keys() {
		s.After = append(s.After, State{Key: key, Cell: *w.store.Cell(key)})
	}
	for _, l := range w.network {
		s.Network = append(s.Network, l.from+" "+operation(l.req))
	}
}

// noteAnswer is told before the process goes on, so that the answer stands in its own step.
func (w *world) noteAnswer(r simstore.Request, a simstore.Answer) {
	if w.trace == nil {
		return
	}
	s := &w.trace.Steps[len(w.trace.Steps)-1]
	switch {
	case a.Err != nil:
		s.Answer = class(a.Err)
	case r.Op == simstore.Read, r.Op == simstore.Commit:
		s.Answer = fmt.Sprintf("v%d m%d %v", a.Record.Version, a.Record.Marker, a.Record.Log)
	case r.Op == simstore.Missing, r.Op == simstore.Look:
		s.Answer = fmt.Sprint(a.Rows)
	default:
		s.Answer = "done"
	}
}

// returned notes that the call of p returned. fill adds its answer.
func (w *world) returned(p *process, fill func(*Made)) {
	if w.trace == nil || p.dead {
		return
	}
	r := &w.trace.Calls[p.call.number]
	r.Ended = w.steps
	fill(r)
	w.trace.Steps[len(w.trace.Steps)-1].Returned = r.String()
}

func argument(r simstore.Request) []simstore.ID {
	switch r.Op {
	case simstore.Put:
		return []simstore.ID{r.Row}
	case simstore.Commit:
		return r.Log
	case simstore.Read, simstore.Look:
		return nil
	}
	return r.Held.Log
}

func class(err error) string {
	if e, ok := err.(*backends.Error); ok {
		return e.Class.Error()
	}
	return err.Error()
}

// Print writes the trace as a table, one step a line.
func (t *Trace) Print(out io.Writer) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "#\tprocess\tdoes\tanswer\tstore\n")
	for i, s := range t.Steps {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s", i+1, s.Process, s.does(), s.Answer, s.states())
		if s.Returned != "" {
			fmt.Fprintf(tw, "; %s returns: %s", s.Process, s.Returned)
		}
		fmt.Fprintln(tw)
	}
	if t.Violation != nil {
		fmt.Fprintln(tw, t.Violation)
	}
	fmt.Fprintf(tw, "schedule: %#v\n", t.Schedule)
	return tw.Flush()
}

// String is what Print writes.
func (t *Trace) String() string {
	var b strings.Builder
	_ = t.Print(&b) // A Builder never fails.
	return b.String()
}

func (s Step) does() string {
	parts := []string{s.Op, s.Key}
	if len(s.IDs) > 0 {
		parts = append(parts, fmt.Sprint(s.IDs))
	}
	if s.Event != "" {
		parts = append(parts, "- "+s.Event)
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func (s Step) states() string {
	var parts []string
	for _, a := range s.After {
		r := a.Cell.Record
		parts = append(parts, fmt.Sprintf("%s v%d m%d log %v view %v", a.Key, r.Version, r.Marker, r.Log, a.Cell.View))
	}
	if len(s.Network) > 0 {
		parts = append(parts, "out: "+strings.Join(s.Network, ", "))
	}
	return strings.Join(parts, "; ")
}
