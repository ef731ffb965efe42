package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/goferry/goferry/bench/internal/report"
)

// measured is what was found of an engine.
type measured struct {
	Engine string
	title  string
	Cells  map[string][]figures // by name, one for each round; an engine need not have all of them
	Others map[string]other     // what is no cell, by what it is
	Goals  []goal
}

// other is a figure that is no cell's, or why there is none.
type other struct {
	Got     float64
	Skipped string
}

const (
	slowRatio    = "64 keys to seq1, a sync takes 5 ms more"
	syncsAlone   = "syncs per commit, seq1"
	syncsShared  = "syncs per commit, 64 keys"
	slowestInput = "slowest input while connections are cut"
)

// goal is one figure and what it should be. Times are in seconds.
type goal struct {
	What    string
	Least   bool // Got should be at least Want, else at most
	Want    float64
	Got     float64
	Skipped string // why there is no figure
	Met     bool
	Count   bool // holds on any machine: to miss it is a failure
	show    func(float64) string
}

// aims are what is expected of an engine. Those of rates and of p50 are for two cores and a disk that syncs in 0.13 ms. 0 is no
// expectation.
type aims struct {
	batch   float64 // what 64 entries a write buy
	grouped float64 // what the gathering of writes to 64 keys buys
	shared  float64 // transactions per commit with 64 keys, at most

	seq1, seq64, keys, proj64 float64       // entries per second
	p50                       time.Duration // of a commit, at most

	slow               float64       // what 64 writers buy over one on a slow disk
	syncs, sharedSyncs float64       // per commit of one writer and of 64, at most
	slowest            time.Duration // input while connections are cut, at most
}

func (a aims) judge(m measured) []goal {
	goals := m.counts(a.shared)
	add := func(g goal) {
		if _, tried := m.Others[g.What]; g.Want > 0 && (g.Got > 0 || tried) {
			g.Met = g.Skipped == "" && (g.Got == g.Want || g.Got > g.Want == g.Least)
			goals = append(goals, g)
		}
	}
	least := func(what string, got, want float64, show func(float64) string) {
		add(goal{What: what, Least: true, Want: want, Got: got, show: show})
	}
	other := func(what string, want float64, least bool, show func(float64) string) {
		add(goal{What: what, Least: least, Want: want, Got: m.Others[what].Got, Skipped: m.Others[what].Skipped, show: show})
	}
	least("entries/s, seq1", m.rate("seq1"), a.seq1, report.Number)
	add(goal{What: "commit p50, seq1", Want: a.p50.Seconds(), Got: m.middle("seq1", p50), show: seconds})
	least("entries/s, seq64", m.rate("seq64"), a.seq64, report.Number)
	least("seq64 to seq1", m.ratio("seq64", "seq1"), a.batch, report.Times)
	least("entries/s, 64 keys", m.rate("64 keys"), a.keys, report.Number)
	least("64 keys to 64 keys ungrouped", m.ratio("64 keys", "64 keys ungrouped"), a.grouped, report.Times)
	least("entries/s, proj64", m.rate("proj64"), a.proj64, report.Number)
	other(slowRatio, a.slow, true, report.Times)
	other(syncsAlone, a.syncs, false, report.Number)
	other(syncsShared, a.sharedSyncs, false, report.Number)
	other(slowestInput, a.slowest.Seconds(), false, seconds)
	return goals
}

func seconds(f float64) string { return report.Duration(time.Duration(f * float64(time.Second))) }

// counts are the goals that hold on any machine.
func (m measured) counts(shared float64) (goals []goal) {
	most := func(what string, got, want float64) {
		if math.IsNaN(got) { // The cell did not run.
			return
		}
		goals = append(goals, goal{What: what, Want: want, Got: got, Met: got <= want, Count: true, show: report.Number})
	}
	var absent, extra float64
	for name := range m.Cells {
		absent, extra = absent+m.total(name, lost), extra+m.total(name, doubled)
	}
	most("lost", absent, 0)
	most("doubled", extra, 0)
	if m.total("seq1", operations) == 0 { // Memory counts nothing.
		return goals
	}
	most("writes done per write asked for, worst cell", m.worst(operations, writes), 1)
	most("transactions per commit, seq1", m.per("seq1", transactions, commits), 1)
	most("transactions per commit, 64 keys", m.per("64 keys", transactions, commits), shared)
	most("transactions per commit and projection, proj64", m.per("proj64", transactions, commits), 2)
	if m.total("seq1", statements) > 0 {
		most("statements per commit, seq1", m.per("seq1", statements, commits), 1)
		most("statements per commit, 64 keys", m.per("64 keys", statements, commits), 1)
		most("statements per commit and projection, proj64", m.per("proj64", statements, commits), 3)
	}
	return goals
}

// What figures are taken from.
func speed(f figures) float64        { return f.PerSecond }
func p50(f figures) float64          { return f.P50.Seconds() }
func p99(f figures) float64          { return f.P99.Seconds() }
func lost(f figures) float64         { return float64(f.Lost) }
func doubled(f figures) float64      { return float64(f.Doubled) }
func commits(f figures) float64      { return float64(f.Commits) }
func writes(f figures) float64       { return float64(f.Commits + f.Projections) }
func refused(f figures) float64      { return float64(f.Refused) }
func operations(f figures) float64   { return float64(f.Work.Operations) }
func transactions(f figures) float64 { return float64(f.Work.Transactions) }
func statements(f figures) float64   { return float64(f.Work.Statements) }

func (m measured) total(cell string, of func(figures) float64) (sum float64) {
	for _, f := range m.Cells[cell] {
		sum += of(f)
	}
	return sum
}

func (m measured) per(cell string, of, per func(figures) float64) float64 {
	return m.total(cell, of) / m.total(cell, per)
}

// worst is the highest of all cells.
func (m measured) worst(of, per func(figures) float64) (highest float64) {
	for name := range m.Cells {
		if m.total(name, per) > 0 {
			highest = max(highest, m.per(name, of, per))
		}
	}
	return highest
}

// median is that of the rounds, the lower of two, 0 of none.
func median(rounds []float64) float64 {
	if len(rounds) == 0 {
		return 0
	}
	slices.Sort(rounds)
	return rounds[(len(rounds)-1)/2]
}

func (m measured) rate(cell string) float64 { return m.middle(cell, speed) }

func (m measured) middle(cell string, of func(figures) float64) float64 {
	var rounds []float64
	for _, f := range m.Cells[cell] {
		rounds = append(rounds, of(f))
	}
	return median(rounds)
}

// ratio is the median of those within a round, 0 if it cannot be told.
func (m measured) ratio(a, b string) float64 {
	if len(m.Cells[a]) == 0 || m.total(b, speed) == 0 {
		return 0
	}
	var rounds []float64
	for round, f := range m.Cells[a] {
		rounds = append(rounds, speed(f)/speed(m.Cells[b][round]))
	}
	return median(rounds)
}

// wrong answers the counts that were missed.
func (m measured) wrong() (err error) {
	for _, g := range m.Goals {
		if g.Count && !g.Met {
			err = errors.Join(err, fmt.Errorf("%s: %s: got %v, want at most %v", m.Engine, g.What, g.Got, g.Want))
		}
	}
	return err
}

// tell writes the table of an engine.
func (m measured) tell(r *report.Report) {
	var table [][]string
	for _, c := range cells {
		if len(m.Cells[c.name]) > 0 {
			table = append(table, m.row(c.name))
		}
	}
	r.Table("**"+m.title+"**", []string{"", "entries/s", "to seq1", "commit p50", "p99", "refused", "transactions", "statements", "lost", "doubled"}, table)
}

func (m measured) row(cell string) []string {
	row := []string{cell, report.Number(m.rate(cell)), orNone(m.ratio(cell, "seq1"), report.Times)}
	if m.total(cell, commits) == 0 { // By hand: nobody counts.
		row = append(row, "", "", "", "", "")
	} else {
		row = append(row,
			seconds(m.middle(cell, p50)),
			seconds(m.middle(cell, p99)),
			fmt.Sprintf("%.0f %%", 100*m.per(cell, refused, commits)),
			orNone(m.per(cell, transactions, commits), report.Number),
			orNone(m.per(cell, statements, commits), report.Number))
	}
	return append(row, fmt.Sprint(m.total(cell, lost)), fmt.Sprint(m.total(cell, doubled)))
}

// orNone shows as a blank what an engine does not count or have.
func orNone(f float64, show func(float64) string) string {
	if f == 0 {
		return ""
	}
	return show(f)
}

// compare writes the engines side by side.
func compare(r *report.Report, all []measured) {
	header := []string{""}
	for _, m := range all {
		header = append(header, m.title)
	}
	ratios := []struct{ what, a, b string }{
		{"seq64 to seq1: 64 entries a write", "seq64", "seq1"},
		{"64x64 to 64 keys: the same, with 64 writers", "64x64", "64 keys"},
		{"64 keys to seq1: 64 writers", "64 keys", "seq1"},
		{"64 keys to ungrouped: writes that share a transaction", "64 keys", "64 keys ungrouped"},
		{"many64 to seq1: one write to each of 64 keys at once", "many64", "seq1"},
		{"proj64 to proj1: 64 rows a projection", "proj64", "proj1"},
		{"seq1 to proj1: what a view costs", "seq1", "proj1"},
		{"hot8 with lanes to without: 8 writers on one key", "hot8 lanes", "hot8"},
		{"seq1 to a loop by hand", "seq1", "seq1 by hand"},
		{"seq64 to a loop by hand", "seq64", "seq64 by hand"},
		{"proj64 to a loop by hand", "proj64", "proj64 by hand"},
	}
	var table [][]string
	for _, ratio := range ratios {
		row := []string{ratio.what}
		for _, m := range all {
			row = append(row, orNone(m.ratio(ratio.a, ratio.b), report.Times))
		}
		table = append(table, row)
	}
	r.Table("**Side by side**", header, table)
}
