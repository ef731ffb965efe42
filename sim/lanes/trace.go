package lanes

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/sim/picture"
	"github.com/goferry/goferry/sim/simstore"
)

// Trace is one history: what happened, and whether a law was broken.
type Trace struct {
	Scenario Scenario
	// Schedule is what the chooser chose. Replay of it makes the same trace.
	Schedule []int
	Steps    []Step
	// Violation is nil if every law held. It then happened in the last step.
	Violation *Violation
}

// Step is one thing that happened.
type Step struct {
	// Process is whose step it was; empty when time passes.
	Process string
	// Does is what happened, see [Option.String], and Answer what the store said.
	Does, Answer string
	// Began are the calls that began in the step, and Told what callers were told in it.
	Began, Told []string
	// Store has a line for each key after the step.
	Store []string

	kind picture.Kind
}

func (w *world) note(o Option) {
	if w.trace == nil {
		return
	}
	s := Step{Does: o.String(), kind: picture.Other}
	if o.process != nil {
		s.Process = o.process.name
	}
	switch {
	case o.fault != NoFault, o.kind == leave, o.kind == giveUp:
		s.kind = picture.Trouble
	case o.kind == serve && o.op.req.Op.Writes():
		s.kind = picture.Write
	case o.kind == serve:
		s.kind = picture.Read
	}
	w.trace.Steps = append(w.trace.Steps, s)
}

func (w *world) noteAnswer(r simstore.Request, a answer) {
	if w.trace == nil {
		return
	}
	s := &w.trace.Steps[len(w.trace.Steps)-1]
	switch e, _ := a.Err.(*backends.Error); {
	case a.defect&(Panic|Goexit) != 0:
	case e != nil:
		s.Answer = e.Class.Error()
	case r.Op == simstore.Project:
		s.Answer = "done"
	default:
		s.Answer = fmt.Sprint(a.Record.Log)
	}
}

func (w *world) noteTold(c *caller) {
	if w.trace == nil {
		return
	}
	told := fmt.Sprintf("%s %v: %v at %d", c.Key, c.ID, c.out.Status, c.out.Result)
	if c.err != nil {
		told = fmt.Sprintf("%s %v: %v", c.Key, c.ID, c.err)
	}
	s := &w.trace.Steps[len(w.trace.Steps)-1]
	s.Told = append(s.Told, told)
}

// finishStep adds what the step has led to.
func (w *world) finishStep() {
	if w.trace == nil {
		return
	}
	s := &w.trace.Steps[len(w.trace.Steps)-1]
	for _, p := range w.processes {
		for _, l := range p.lanes {
			if l.trip != nil && l.trip.step == w.steps {
				s.Began = append(s.Began, fmt.Sprintf("%s %s %s", p.name, l.key, letters(l.trip.ins)))
			}
		}
	}
	for _, key := range w.store.Keys() {
		c := w.store.Cell(key)
		s.Store = append(s.Store, fmt.Sprintf("%s v%d log %v view %v", key, c.Record.Version, c.Record.Log, c.View))
	}
}

func letters(callers []*caller) string {
	ids := make([]simstore.ID, len(callers))
	for i, c := range callers {
		ids[i] = c.ID
	}
	return fmt.Sprint(ids)
}

// Print writes the trace as a table, one step a line.
func (t *Trace) Print(out io.Writer) error {
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "#\tstep\tanswer\tcalls\tstore\ttold\n")
	for i, s := range t.Steps {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\n", i+1, s.Does, s.Answer,
			strings.Join(s.Began, ", "), strings.Join(s.Store, "; "), strings.Join(s.Told, "; "))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
	if t.Violation != nil {
		fmt.Fprintln(out, t.Violation)
	}
	_, err := fmt.Fprintf(out, "schedule: %#v\n", t.Schedule)
	return err
}

// String is what Print writes.
func (t *Trace) String() string {
	var b strings.Builder
	_ = t.Print(&b) // A Builder never fails.
	return b.String()
}

// Picture draws the trace: t.Picture().HTML(w) writes a self-contained page.
func (t *Trace) Picture() picture.Picture {
	l := t.Scenario.Limits
	p := picture.Picture{
		Title: t.Scenario.Name,
		About: []string{fmt.Sprintf("At most %d faults, %d leaving callers, %d ticks of %v and %d closes in the middle.",
			l.Faults, l.Cancels, l.Ticks, t.Scenario.Tick, l.Closes)},
		Lanes: t.Scenario.names(func(c Caller) string { return c.Process }),
		Again: fmt.Sprintf("lanes.Run(scenario, lanes.Replay(%#v), nil)", t.Schedule),
	}
	if p.Title == "" {
		p.Title = "A history of lanes"
	}
	for _, s := range t.Steps {
		p.Steps = append(p.Steps, picture.Step{Lane: s.Process, Kind: s.kind, Does: s.Does, Event: strings.Join(slices.Concat(began(s), s.Told), "\n"),
			Answer: s.Answer, Store: s.Store})
	}
	if t.Violation != nil {
		p.Law, p.Broken = string(t.Violation.Law), t.Violation.Text
	}
	return p
}

func began(s Step) (texts []string) {
	for _, call := range s.Began {
		texts = append(texts, "sends "+call)
	}
	return texts
}
