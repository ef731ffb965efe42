package sim

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/goferry/goferry/sim/internal/kit"
	"github.com/goferry/goferry/sim/simstore"
)

// explain is all that a failure says, with the path of a picture.
func explain(test string, v *kit.Violation) string {
	text := describe(v)
	if v.History == nil || len(v.History.Steps) == 0 {
		return text
	}
	path, err := draw(test, v)
	if err != nil {
		return text + "The picture could not be drawn: " + err.Error()
	}
	return text + "Picture: " + path
}

// describe is explain without the picture.
func describe(v *kit.Violation) string {
	if v.History == nil || len(v.History.Steps) == 0 {
		return "sim: " + v.Error()
	}
	return fmt.Sprintf("sim: %v\n%s", v, table(v.History, traceOf(v).Steps))
}

// draw draws the history that breaks a law into a file, which is the user's to remove.
func draw(test string, v *kit.Violation) (path string, err error) {
	p := traceOf(v).Picture()
	p.Title, p.About, p.Again = test, []string{"To fix: " + v.Law.Fix}, "go test -run '"+test+"'"
	file, err := os.CreateTemp("", "goferry-history-*.html")
	if err != nil {
		return "", err
	}
	return file.Name(), errors.Join(p.HTML(file), file.Close())
}

// traceOf makes a history on a real store one of the simulated store: an identity becomes the letter of its input, and the
// version is how often the record was seen to change.
func traceOf(v *kit.Violation) *Trace {
	h := v.History
	t := &Trace{Violation: &Violation{Law: Law(v.Law.Name), Text: v.Text}}
	for _, s := range h.Steps {
		record := simstore.Record{Version: s.After.Writes(), Log: lettersOf(h, s.After.Log)}
		if s.After.Pending {
			record.Marker = 1
		}
		answer := s.Answer
		if s.Answered != nil {
			answer = strings.TrimSpace(fmt.Sprint(lettersOf(h, s.Answered), " ", s.Answer))
		}
		t.Steps = append(t.Steps, Step{
			Process: s.Who, Op: s.Op, IDs: lettersOf(h, s.IDs), Event: s.Event, Answer: answer, Returned: s.Returned,
			Key:   fmt.Sprint(h.Key),
			After: []State{{fmt.Sprint(h.Key), simstore.Cell{Record: record, View: lettersOf(h, s.After.View)}}}, Network: s.Out,
		})
	}
	return t
}

// last is the letter z.
const last = 25

// lettersOf keeps to the first ids, and calls all from the 26th on z: a longer log is no picture any more.
func lettersOf(h *kit.History, ids []any) (all []simstore.ID) {
	for _, n := range h.Numbers(ids[:min(len(ids), 8)]) {
		all = append(all, simstore.ID(min(n, last)))
	}
	return all
}

// table prints the steps of a history.
func table(h *kit.History, steps []Step) string {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "#\twho\tdoes\tanswer\tlog\tview\tmarker\t\n")
	used := map[simstore.ID]bool{}
	for i, s := range steps {
		cell := s.After[0].Cell
		s.Key = "" // The same in all.
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%v\t%v\t%s\t%s\n", i+1, s.Process, s.does(), s.Answer, cell.Record.Log, cell.View, markerText(cell), remark(s))
		for _, id := range s.IDs {
			used[id] = true
		}
	}
	tw.Flush() // To a Builder, which never fails.
	fmt.Fprintf(&b, "The key is %q", fmt.Sprint(h.Key))
	for _, id := range slices.Sorted(maps.Keys(used)) {
		if real := fmt.Sprint(h.ID(int(id))); id < last && real != id.String() {
			fmt.Fprintf(&b, ", %v is %q", id, real)
		}
	}
	b.WriteString(".\n")
	return b.String()
}

func markerText(c simstore.Cell) string {
	if c.Record.Marker == 1 {
		return "pending"
	}
	return "clear"
}

// remark says what else there is to a step.
func remark(s Step) string {
	var parts []string
	if s.Returned != "" {
		parts = append(parts, s.Returned)
	}
	if len(s.Network) > 0 {
		parts = append(parts, "on its way: "+strings.Join(s.Network, ", "))
	}
	return strings.Join(parts, "; ")
}
