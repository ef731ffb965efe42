package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goferry/goferry/sim/picture"
	"github.com/goferry/goferry/sim/simstore"
)

// Picture draws the trace: t.Picture().HTML(w) writes a self-contained page.
func (t *Trace) Picture() picture.Picture {
	l := t.Scenario.Limits
	p := picture.Picture{
		Title: t.Scenario.Name,
		About: []string{fmt.Sprintf("View: %v. Retries: %d. At most %d faults, %d crashes and %d leaving callers.",
			t.Scenario.Layout, t.Scenario.Retries, l.Faults, l.Crashes, l.Cancels)},
		Again: fmt.Sprintf("sim.Run(scenario, sim.Replay(%#v))", t.Schedule),
	}
	if p.Title == "" {
		p.Title = "A history"
	}
	for _, s := range t.Steps {
		if s.Process != "" && !slices.Contains(p.Lanes, s.Process) {
			p.Lanes = append(p.Lanes, s.Process)
		}
		p.Steps = append(p.Steps, s.picture())
	}
	for _, c := range t.Calls {
		p.Calls = append(p.Calls, picture.Call{Lane: c.Process, From: c.Began, To: c.Ended, What: c.Call.String(), Answer: c.String()})
	}
	if t.Violation != nil {
		p.Law, p.Broken = string(t.Violation.Law), t.Violation.Text
	}
	return p
}

func (s Step) picture() picture.Step {
	drawn := picture.Step{Lane: s.Process, Kind: s.kind(), Event: s.Event, Answer: s.Answer, Network: s.Network}
	drawn.Does = strings.TrimSpace(s.Op + " " + s.Key)
	if len(s.IDs) > 0 {
		drawn.Does += fmt.Sprint(" ", s.IDs)
	}
	for _, a := range s.After {
		r := a.Cell.Record
		drawn.Store = append(drawn.Store, fmt.Sprintf("%s: version %d, marker %d\n  log  %v\n  view %v", a.Key, r.Version, r.Marker, r.Log, a.Cell.View))
	}
	return drawn
}

func (s Step) kind() picture.Kind {
	switch {
	case strings.HasPrefix(s.Event, "crashes"):
		return picture.Crash
	case strings.HasPrefix(s.Event, "lands"):
		return picture.Late
	case s.Event != "":
		return picture.Trouble
	case s.Op == simstore.Read.String(), s.Op == simstore.Missing.String(), s.Op == simstore.Look.String():
		return picture.Read
	}
	return picture.Write
}

// String says what is called, such as "submit a b", "sweep k" or "look at k".
func (c Call) String() string {
	switch {
	case c.Look:
		return "look at " + c.Key
	case len(c.Inputs) == 0:
		return "sweep " + c.Key
	}
	what := "submit"
	for _, in := range c.Inputs {
		what += " " + in.ID.String()
	}
	return what
}
