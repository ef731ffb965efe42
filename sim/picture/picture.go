// Package picture draws a history as one self-contained HTML page: who did what to the store, in which order, what went
// wrong, what was answered, and how the store was after each step. The page needs no script and no network.
package picture

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
)

// Picture is a history to draw.
type Picture struct {
	Title string
	// About are lines under the title: what was tried, and within which limits.
	About []string
	// Lanes are those who act, one column each, in order.
	Lanes []string
	Steps []Step
	Calls []Call
	// Law and Broken name the law that the last step broke and say how. Both are empty if none did.
	Law, Broken string
	// Again says how to see the history again.
	Again string
}

// Step is one thing that happened.
type Step struct {
	// Lane is who did it; empty for the world itself.
	Lane string
	Kind Kind
	// Does is what was done, Event what was unusual about it, Answer what the store said. Each may be empty.
	Does, Event, Answer string
	// Store is the state after the step, a line per key, and Network what is still out.
	Store, Network []string
}

// Kind is what a step is drawn as.
type Kind string

// The kinds of steps.
const (
	Read    Kind = "read"    // changes nothing
	Write   Kind = "write"   // reached the store
	Trouble Kind = "trouble" // met a fault
	Late    Kind = "late"    // lands long after it was sent
	Crash   Kind = "crash"   // the end of a process
	Other   Kind = "other"   // anything else
)

// Call is a call under way, drawn beside the steps From to To, counted from 1. To is 0 for one that was never answered.
type Call struct {
	Lane     string
	From, To int
	// What is the call, and Answer what its caller was told.
	What, Answer string
}

//go:embed page.html
var page string

var tmpl = template.Must(template.New("page").Parse(page))

// HTML writes the page.
func (p Picture) HTML(w io.Writer) error {
	return tmpl.Execute(w, struct {
		Picture
		Rows []row
	}{p, p.rows()})
}

// row is a step as the page shows it.
type row struct {
	Step
	Number int
	Cells  []cell
	Last   bool // and the law broke here
}

// cell is the column of a lane in a row.
type cell struct {
	Acts            bool
	Begins, Answers string // of a call that does
	InCall          bool
}

func (p Picture) rows() []row {
	var rows []row
	for i, s := range p.Steps {
		r := row{Step: s, Number: i + 1, Last: p.Law != "" && i == len(p.Steps)-1}
		for _, lane := range p.Lanes {
			r.Cells = append(r.Cells, p.cell(lane, i+1, s.Lane == lane))
		}
		rows = append(rows, r)
	}
	return rows
}

func (p Picture) cell(lane string, step int, acts bool) cell {
	c := cell{Acts: acts}
	for _, call := range p.Calls {
		if call.Lane != lane || step < call.From || call.end(p) < step {
			continue
		}
		c.InCall = true
		if step == call.From {
			c.Begins = call.What
		}
		if step == call.To {
			c.Answers = call.Answer
		}
	}
	return c
}

// end is where the bar of a call ends: for one that was never answered, at the last thing that its lane did before
// anything else of it begins.
func (c Call) end(p Picture) int {
	if c.To > 0 {
		return c.To
	}
	end := len(p.Steps)
	for _, other := range p.Calls {
		if other.Lane == c.Lane && other.From > c.From {
			end = min(end, other.From-1)
		}
	}
	acts := func(s Step) bool { return s.Lane == c.Lane && s.Kind != Late }
	for end > c.From && !slices.ContainsFunc(p.Steps[end-1:end], acts) {
		end--
	}
	return end
}
