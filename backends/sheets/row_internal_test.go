package sheets

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// rowsOf makes the queue rows of a transaction, from the sheet row at on.
func rowsOf(tx Transaction, at int, sequence int64, status Status) []queueRow {
	var rows []queueRow
	for i := range tx.Tasks {
		r := newQueueRow(tx, i, sequence+int64(i), status, noon)
		r.at = at + i
		rows = append(rows, r)
	}
	return rows
}

// stored is a row as it is read back.
func stored(r queueRow) queueRow {
	cells := r.values()
	for i, v := range cells {
		if v == "" {
			cells[i] = nil
		}
	}
	back, _ := decodeRow(r.at, cells)
	return back
}

func TestRowsRoundTrip(t *testing.T) {
	t.Parallel()
	tx := good()
	tx.DependsOn = "before"
	for _, r := range rowsOf(tx, 2, 5, StatusPending) {
		r.code, r.message, r.attempts = "claimed", "17", 2
		got := stored(r)
		if got.problem != "" {
			t.Fatalf("problem: %s", got.problem)
		}
		got.raw = nil
		if fmt.Sprint(got.values()) != fmt.Sprint(r.values()) || got.task.Payload != r.task.Payload || !got.created.Equal(noon) {
			t.Errorf("got %+v, want %+v", got, r)
		}
	}
	if len(queueHeader) != len(queueRow{}.values()) {
		t.Error("header and values differ in length")
	}
	if _, ok := decodeRow(2, make([]any, len(queueHeader))); ok {
		t.Error("a blank row is a row")
	}
}

func TestMalformedRows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		column int
		value  any
		ok     bool // whether the row can still be applied
	}{
		{0, nil, false}, {0, "other", false}, {1, "other", false}, {2, 1.5, false}, {2, "0", true}, {2, nil, false},
		{3, "five", false}, {3, 0.0, false}, {3, "5", true}, {3, 1e300, false}, {4, "paused", false}, {4, nil, false},
		{5, "upsert", false}, {6, nil, false}, {7, true, false}, {8, "u2", false}, {9, 1.0, false}, {9, "x", false},
		{10, nil, false}, {10, redacted, false}, {10, "{}", false}, {11, -1.0, false}, {11, 1.5, false}, {11, nil, true},
		{11, "2", true}, {14, "yesterday", true}, {15, 45000.0, true}, {16, nil, true}, {16, "0000", false},
		{17, 0.0, false}, {17, nil, true}, {17, "many", false}, {18, nil, true}, {12, struct{}{}, false},
	}
	for _, tt := range tests {
		cells := rowsOf(good(), 2, 5, StatusPending)[0].values()
		cells[tt.column] = tt.value
		r, _ := decodeRow(2, cells)
		if ok := r.problem == ""; ok != tt.ok {
			t.Errorf("%s = %v: usable %v (%s), want %v", queueHeader[tt.column], tt.value, ok, r.problem, tt.ok)
		}
		if r.problem != "" {
			r.status = StatusFailed
			for i, v := range r.values() {
				if !slices.Contains([]int{4, 12, 13, 15}, i) && v != cells[i] {
					t.Errorf("%s = %v: column %s of a malformed row would be changed", queueHeader[tt.column], tt.value, queueHeader[i])
				}
			}
		}
	}
}

func TestTerminalRowsAreNotJudged(t *testing.T) {
	t.Parallel()
	r := rowsOf(good(), 2, 5, StatusDone)[0]
	r.payload, r.fingerprint = redacted, "anything"
	if got := stored(r); got.problem != "" {
		t.Errorf("got %q, want no problem", got.problem)
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	three := func() []queueRow { return rowsOf(good(), 2, 5, StatusPending) }
	legacy := func() []queueRow {
		rows := three()
		for i := range rows {
			rows[i].size = 0
		}
		return rows
	}
	tests := []struct {
		name     string
		rows     func() []queueRow
		complete bool
		valid    bool
	}{
		{"whole", three, true, true},
		{"in another order", func() []queueRow { r := three(); slices.Reverse(r); return r }, true, true},
		{"last row missing", func() []queueRow { return three()[:2] }, false, true},
		{"first row missing", func() []queueRow { return three()[1:] }, false, true},
		{"middle row missing", func() []queueRow { r := three(); return slices.Delete(r, 1, 2) }, false, true},
		{"index twice", func() []queueRow { r := three(); r[2].index = 1; return r }, false, false},
		{"index too large", func() []queueRow { r := three(); r[2].index = 3; return r }, false, false},
		{"sizes differ", func() []queueRow { r := three(); r[1].size = 2; return r }, true, false},
		{"dependencies differ", func() []queueRow { r := three(); r[1].dependsOn = "x"; return r }, true, false},
		{"a row is malformed", func() []queueRow { r := three(); r[1].problem = "x"; return r }, true, false},
		{"legacy", legacy, true, true},
		{"legacy, first row missing", func() []queueRow { return legacy()[1:] }, false, true},
		{"legacy, middle row missing", func() []queueRow { r := legacy(); return slices.Delete(r, 1, 2) }, false, true},
		{"legacy, sequences apart", func() []queueRow { r := legacy(); r[2].sequence = 9; return r }, true, false},
		{"legacy, a malformed row beside it", func() []queueRow {
			return append([]queueRow{{at: 1, problem: "x"}}, legacy()...)
		}, true, false},
	}
	for _, tt := range tests {
		groups, _ := groupRows(tt.rows())
		g := groups[0]
		if g.complete() != tt.complete && tt.valid || (g.problem == "") != tt.valid {
			t.Errorf("%s: complete %v, problem %q; want %v, valid %v", tt.name, g.complete(), g.problem, tt.complete, tt.valid)
		}
	}
}

// S11: the order is by sequence, whatever the order of the rows.
func TestGroupsAreInSequence(t *testing.T) {
	t.Parallel()
	one := func(id string, at int, sequence int64) queueRow {
		tx := Transaction{ID: id, Tasks: []Task{Insert(id, "S", "id", Row{"id": id, "_version": 1})}}
		return rowsOf(tx, at, sequence, StatusPending)[0]
	}
	groups, unreadable := groupRows([]queueRow{one("c", 2, 9), one("a", 3, 1), {at: 4, problem: "x"}, one("b", 5, 4)})
	var ids []string
	for _, g := range groups {
		ids = append(ids, g.id)
	}
	if got := strings.Join(ids, ""); got != "abc" {
		t.Errorf("order: got %s, want abc", got)
	}
	if !slices.Equal(unreadable, []int{4}) {
		t.Errorf("unreadable: got %v, want [4]", unreadable)
	}
}

func TestStamps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status        Status
		code, message string
		want          bool
	}{
		{StatusProcessing, stampCode, "7", true}, {StatusProcessing, stampCode, "8", false},
		{StatusProcessing, stampCode, "0", false}, {StatusProcessing, stampCode, "x", false},
		{StatusProcessing, "", "7", false}, {StatusPending, stampCode, "7", false},
	}
	for _, tt := range tests {
		r := queueRow{status: tt.status, code: tt.code, message: tt.message}
		if _, got := r.stamped(7); got != tt.want {
			t.Errorf("%+v: got %v, want %v", tt, got, tt.want)
		}
	}
	g := &group{rows: []queueRow{
		{status: StatusProcessing, code: stampCode, message: "7"}, {status: StatusProcessing, code: stampCode, message: "6"},
	}}
	if g.stampedBy(9) != 0 {
		t.Error("a group with two stamps counts as claimed by one")
	}
}

// S20: attempts count for the whole transaction.
func TestSetCountsOneAttemptForTheGroup(t *testing.T) {
	t.Parallel()
	rows := rowsOf(good(), 2, 5, StatusPending)
	rows[1].attempts = 2
	g := &group{id: "tx", rows: rows}
	for _, r := range g.set(noon, StatusProcessing, stampCode, "1") {
		if r.attempts != 3 {
			t.Errorf("attempts: got %d, want 3", r.attempts)
		}
	}
	for _, r := range g.set(noon, StatusDone, "", "") {
		if r.payload != redacted {
			t.Errorf("payload of a done row: got %q, want it redacted", r.payload)
		}
	}
}
