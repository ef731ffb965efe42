// Package report collects tables and goals into a document, and shows the tables as they come.
package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Report is a document that is being written. The zero value shows nothing meanwhile.
type Report struct {
	Show  io.Writer // gets everything as it comes; nil is nobody
	body  strings.Builder
	goals [][]string
}

// Section begins a section with a text under its heading.
func (r *Report) Section(title, text string) { r.write("## %s\n\n%s\n\n", title, text) }

// Table adds a table, with a caption over it.
func (r *Report) Table(caption string, header []string, rows [][]string) {
	r.write("%s\n\n%s\n", caption, Table(header, rows))
}

func (r *Report) write(format string, args ...any) {
	fmt.Fprintf(&r.body, format, args...)
	if r.Show != nil {
		fmt.Fprintf(r.Show, format, args...)
	}
}

// AtLeast adds a goal that is met if got is not less than want.
func (r *Report) AtLeast(what string, got, want float64) {
	r.goal(what, ">=", got, want, got >= want)
}

// AtMost adds a goal that is met if got is not more than want.
func (r *Report) AtMost(what string, got, want float64) {
	r.goal(what, "<=", got, want, got <= want)
}

// Told adds a figure without a goal, for comparison.
func (r *Report) Told(what string, got float64) {
	r.goals = append(r.goals, []string{what, "", Number(got), ""})
}

func (r *Report) goal(what, relation string, got, want float64, met bool) {
	verdict := "met"
	if !met {
		verdict = "**missed**"
	}
	r.goals = append(r.goals, []string{what, relation + " " + Number(want), Number(got), verdict})
}

// Document answers the whole document: the head, the goals and what came so far.
func (r *Report) Document(head string) string {
	return head + "\n## Goals\n\n" + r.Goals() + "\n" + r.Body()
}

// Body answers what came so far.
func (r *Report) Body() string { return strings.TrimRight(r.body.String(), "\n") + "\n" }

// Goals answers the table of goals.
func (r *Report) Goals() string {
	return Table([]string{"Figure", "Goal", "Measured", "Verdict"}, r.goals)
}

// Table is one in Markdown, padded so that it reads well as text too.
func Table(header []string, rows [][]string) string {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				fmt.Fprintf(&b, "| %s%s |", cell, pad)
			} else {
				fmt.Fprintf(&b, " %s%s |", pad, cell)
			}
		}
		b.WriteByte('\n')
	}
	line(header)
	for i, width := range widths {
		if i == 0 {
			fmt.Fprintf(&b, "|%s|", strings.Repeat("-", width+2))
		} else {
			fmt.Fprintf(&b, "%s:|", strings.Repeat("-", width+1))
		}
	}
	b.WriteByte('\n')
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// Number writes a figure with three digits that count.
func Number(f float64) string {
	switch abs := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "-"
	case abs >= 1e6:
		return fmt.Sprintf("%.2f M", f/1e6)
	case abs >= 100:
		return fmt.Sprintf("%.0f", f)
	case abs >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

// Times writes a ratio.
func Times(f float64) string { return Number(f) + "x" }

// Duration writes a time with three digits that count.
func Duration(d time.Duration) string {
	switch {
	case d >= time.Second:
		return Number(d.Seconds()) + " s"
	case d >= time.Millisecond:
		return Number(float64(d)/1e6) + " ms"
	case d >= time.Microsecond:
		return Number(float64(d)/1e3) + " µs"
	}
	return fmt.Sprintf("%d ns", d)
}
