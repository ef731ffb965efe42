package sim

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/goferry/goferry/sim/internal/kit"
	"github.com/goferry/goferry/sim/simstore"
)

// drawTrace, if set, draws a trace to a file and answers its path.
var drawTrace func(name string, trace *Trace) (path string, err error)

// explain is all that a failure says.
func explain(test string, v *kit.Violation) string {
	if v.History == nil || len(v.History.Steps) == 0 {
		return "sim: " + v.Error()
	}
	trace := traceOf(v)
	text := fmt.Sprintf("sim: %v\n%s", v, table(v.History, trace.Steps))
	if drawTrace == nil {
		return text
	}
	path, err := drawTrace(test, trace)
	if err != nil {
		return text + "The picture could not be drawn: " + err.Error()
	}
	return text + "Picture: " + path
}

// traceOf makes a history on a real store one of the simulated store: identities become letters in the order of their
// first appearance, the version is how often the record was seen to change.
func traceOf(v *kit.Violation) *Trace {
	h := v.History
	t := &Trace{Violation: &Violation{Law: Law(v.Law.Name), Text: v.Text}}
	for _, s := range h.Steps {
		marker := 0
		if s.After.Pending {
			marker = 1
		}
		cell := simstore.Cell{View: letters64(h, s.After.View)}
		cell.Record = simstore.Record{Version: s.After.Writes(), Marker: marker, Log: letters64(h, s.After.Log)}
		t.Steps = append(t.Steps, Step{
			Process: s.Who, Op: s.Op, IDs: letters64(h, s.IDs), Event: s.Event, Answer: s.Answer, Returned: s.Returned,
			Key: fmt.Sprint(h.Key), After: []State{{Key: fmt.Sprint(h.Key), Cell: cell}}, Network: s.Out,
		})
	}
	return t
}

// letters64 keeps to the ids that there are letters for: a longer log is no picture any more.
func letters64(h *kit.History, ids []any) (all []simstore.ID) {
	for _, n := range h.Number(ids[:min(len(ids), 8)]) {
		all = append(all, simstore.ID(n%26))
	}
	return all
}

// table prints the steps of a history.
func table(h *kit.History, steps []Step) string {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "#\twho\tdoes\tanswer\tlog\tview\t\n")
	for i, s := range steps {
		cell := s.After[0].Cell
		pending := ""
		if cell.Record.Marker == 1 {
			pending = "pending"
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%v\t%v\t%s", i+1, s.Process, does(s), s.Answer, cell.Record.Log, cell.View, pending)
		if len(s.Network) > 0 {
			fmt.Fprintf(tw, " (on its way: %s)", strings.Join(s.Network, ", "))
		}
		if s.Returned != "" {
			fmt.Fprintf(tw, " %s", s.Returned)
		}
		fmt.Fprintln(tw)
	}
	tw.Flush() // To a Builder, which never fails.
	for id, letter := range h.Letters() {
		fmt.Fprintf(&b, "%s is %q\n", simstore.ID(letter), fmt.Sprint(id))
	}
	return b.String()
}

func does(s Step) string {
	s.Key = ""
	return s.does()
}
