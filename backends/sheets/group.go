package sheets

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// group is a transaction as its rows in the queue show it.
type group struct {
	id   string
	rows []queueRow // by index
	// problem says why the transaction cannot be processed, "" if it can; code is then its failure.
	problem string
	code    Code
}

// groupRows collects rows by transaction, in the order of their sequence. It leaves out rows whose transaction cannot
// be told; their row numbers are answered.
func groupRows(rows []queueRow) (groups []*group, unreadable []int) {
	byID := map[string]*group{}
	for _, r := range rows {
		if r.transaction == "" {
			unreadable = append(unreadable, r.at)
			continue
		}
		g := byID[r.transaction]
		if g == nil {
			g = &group{id: r.transaction}
			byID[r.transaction] = g
			groups = append(groups, g)
		}
		g.rows = append(g.rows, r)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.rows, func(a, b queueRow) int { return cmp.Compare(a.index, b.index) })
		g.judge(unreadable)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(a.sequence(), b.sequence()) })
	return groups, unreadable
}

// sequence orders the groups. Rows whose sequence cannot be read come first: they fail at once.
func (g *group) sequence() int64 {
	first := g.rows[0].sequence
	for _, r := range g.rows {
		first = min(first, r.sequence)
	}
	return first
}

func (g *group) attempts() int {
	most := 0
	for _, r := range g.rows {
		most = max(most, r.attempts)
	}
	return most
}

// firstRow is the topmost row of the group in the sheet.
func (g *group) firstRow() int {
	first := g.rows[0].at
	for _, r := range g.rows {
		first = min(first, r.at)
	}
	return first
}

// open says whether a row of the group is not terminal.
func (g *group) open() bool {
	return slices.ContainsFunc(g.rows, func(r queueRow) bool { return !r.status.terminal() })
}

// all says whether every row of the group has the status.
func (g *group) all(status Status) bool {
	return !slices.ContainsFunc(g.rows, func(r queueRow) bool { return r.status != status })
}

// touched is when the group was last written.
func (g *group) touched() time.Time {
	var last time.Time
	for _, r := range g.rows {
		if r.updated.After(last) {
			last = r.updated
		}
		if r.created.After(last) {
			last = r.created
		}
	}
	return last
}

// want is the number of rows that the group should have, 0 if no row tells.
func (g *group) want() int {
	for _, r := range g.rows {
		if r.size > 0 {
			return r.size
		}
	}
	return 0
}

// complete says whether all rows of the group are there. An incomplete one is not wrong yet: see judge.
func (g *group) complete() bool {
	want := g.want()
	if want == 0 {
		want = len(g.rows)
	}
	return len(g.rows) == want && g.rows[0].index == 0 && g.rows[len(g.rows)-1].index == want-1
}

// judge finds what is wrong with the group itself. Only open groups are judged: the others are never applied.
func (g *group) judge(unreadable []int) {
	if !g.open() {
		return
	}
	want := g.want()
	for i, r := range g.rows {
		switch {
		case r.problem != "":
			g.fail(r.problem)
		case i > 0 && r.index == g.rows[i-1].index:
			g.fail("two rows have the same transactionIndex")
		case r.size != g.rows[0].size:
			g.fail("rows disagree on transactionSize")
		case want > 0 && r.index >= want:
			g.fail("transactionIndex is beyond transactionSize")
		case r.dependsOn != g.rows[0].dependsOn:
			g.fail("rows disagree on dependsOn")
		case want == 0 && i > 0 && r.sequence != g.rows[i-1].sequence+1 && r.index == g.rows[i-1].index+1:
			g.fail("the sequences of a transaction without a size are not contiguous")
		case want == 0 && (slices.Contains(unreadable, r.at-1) || slices.Contains(unreadable, r.at+1)):
			g.fail("a malformed row is beside a transaction without a size")
		}
	}
}

func (g *group) fail(problem string) { g.failWith(CodeInvalidTask, problem) }

func (g *group) failWith(code Code, problem string) {
	if g.problem == "" {
		g.code, g.problem = code, problem
	}
}

// stampedBy answers the commit that claimed the whole group, 0 if none did.
func (g *group) stampedBy(number int64) int64 {
	claim, ok := g.rows[0].stamped(number)
	for _, r := range g.rows {
		n, stamped := r.stamped(number)
		ok = ok && stamped && n == claim
	}
	if !ok {
		return 0
	}
	return claim
}

// set answers the group's rows with another status and error. A status of processing counts an attempt.
func (g *group) set(now time.Time, status Status, code, message string) []queueRow {
	changed := slices.Clone(g.rows)
	for i := range changed {
		r := &changed[i]
		r.status, r.code, r.message, r.updated = status, code, message, now
		if status == StatusDone {
			r.payload = redacted
		}
		if status == StatusProcessing {
			r.attempts = g.attempts() + 1
		}
		if r.fingerprint == "" && r.problem == "" && r.task.Payload != redacted {
			r.fingerprint = fingerprint(r.transaction, r.index, r.task)
		}
	}
	return changed
}

// haveWant is the cause of an incomplete group, for people.
func (g *group) haveWant() string {
	if want := g.want(); want > 0 {
		return fmt.Sprintf("incomplete: %d of %d rows", len(g.rows), want)
	}
	return fmt.Sprintf("incomplete: %d rows, not from index 0 on", len(g.rows))
}

// weight is the size of the larger of the two requests that the group needs: the one that writes its rows, and the one that
// applies them and marks them done.
func (g *group) weight() int {
	written, applied := 0, 0
	for _, r := range g.rows {
		written += encodedSize(r.values()) + 60
		p, _ := decodePayload(r.task.Operation, r.payload)
		r.payload = redacted
		applied += encodedSize(r.values()) + 400 // Its place in the sheet, and room for it.
		for _, v := range p.fields {
			applied += encodedSize([]any{v})
		}
	}
	return max(written, applied)
}
