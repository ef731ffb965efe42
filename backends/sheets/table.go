package sheets

import (
	"fmt"
	"maps"
	"slices"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
)

// table is a canonical sheet as it will be after the groups that were applied to it in memory. It knows keys and
// versions of all rows, and other fields only as far as its view shows them.
type table struct {
	name      string // logical
	keyHeader string
	tab       *grid.Tab
	columns   map[string]int // by header
	rows      map[string]*tableRow
	order     []*tableRow // the sheet's rows from the top, then new ones
	last      int         // the last row with a key or a version in the sheet, at least the header's
	drift     string      // why the table is unsafe, "" if it is not
}

type tableRow struct {
	at      int // its row in the sheet, 0 for a new one
	key     string
	version any
	write   Row // the fields to write, nil for an untouched row
	gone    bool
}

// headerOf reads the header row of a view, and says what is wrong with it. Extra columns are nothing wrong.
func headerOf(tab *grid.Tab) (columns map[string]int, header []string, drift string) {
	columns = map[string]int{}
	for c := range tab.Width(1) {
		name, _ := ecma.String(tab.At(1, c))
		header = append(header, name)
		if name == "" {
			continue
		}
		if _, twice := columns[name]; twice {
			return columns, header, fmt.Sprintf("header in column %s is there twice", grid.Column(c))
		}
		columns[name] = c
	}
	return columns, header, ""
}

// newTable reads the table out of a view that shows its header, keys and versions.
func newTable(name, keyHeader string, tab *grid.Tab) *table {
	t := &table{name: name, keyHeader: keyHeader, tab: tab, rows: map[string]*tableRow{}, last: 1}
	t.columns, _, t.drift = headerOf(tab)
	keyColumn, hasKey := t.columns[keyHeader]
	versionColumn, hasVersion := t.columns[versionHeader]
	if t.drift == "" && !(hasKey && hasVersion) {
		t.drift = "the header lacks the key column or " + versionHeader
	}
	if t.drift != "" {
		return t
	}
	last := tab.Last()
	for at := 2; at <= last; at++ {
		cell, version := tab.At(at, keyColumn), tab.At(at, versionColumn)
		if cell != nil || version != nil {
			t.last = at
		}
		key, ok := ecma.String(cell)
		if !ok {
			t.drift = fmt.Sprintf("the key in row %d is an error", at)
		}
		if key == "" {
			continue
		}
		t.addExisting(&tableRow{at: at, key: key, version: version})
	}
	return t
}

func (t *table) clone() *table {
	c := *t
	c.order, c.rows = make([]*tableRow, len(t.order)), make(map[string]*tableRow, len(t.rows))
	for i, row := range t.order {
		copied := *row
		c.order[i], c.rows[row.key] = &copied, &copied
	}
	return &c
}

func (t *table) addExisting(row *tableRow) {
	if twin := t.rows[row.key]; twin != nil && t.drift == "" {
		t.drift = fmt.Sprintf("rows %d and %d have the same key", twin.at, row.at)
	}
	t.rows[row.key] = row
	t.order = append(t.order, row)
}

// current answers all fields of a row that the view shows whole.
func (t *table) current(key string) (Row, bool) {
	row := t.rows[key]
	if row == nil {
		return nil, false
	}
	fields := Row{}
	for name, c := range t.columns {
		fields[name] = t.tab.At(row.at, c)
	}
	return fields, true
}

// apply changes the table by one task, and answers how to take that back; or the code and the reason why it cannot.
func (t *table) apply(r queueRow) (undo func(), failure *Error) {
	refuse := func(code Code, detail string) (func(), *Error) {
		return nil, &Error{Code: code, Task: r.task.ID, Sheet: t.name, Detail: detail}
	}
	p, err := decodePayload(r.task.Operation, r.payload)
	if err != nil {
		return refuse(CodeInvalidTask, "payload does not fit the operation")
	}
	row := t.rows[r.task.KeyValue]
	switch {
	case t.drift != "":
		return refuse(CodeSchemaDrift, t.drift)
	case r.task.KeyHeader != t.keyHeader:
		return refuse(CodeSchemaDrift, "another column is the key of this table")
	case !t.models(p.fields):
		return refuse(CodeSchemaDrift, "the header lacks a field of the payload")
	case r.task.Operation == OpInsert:
		if row != nil {
			return refuse(CodeConflict, "the key is there already")
		}
		return t.insert(r.task.KeyValue, p.fields), nil
	case row == nil:
		return refuse(CodeConflict, "the key is not there")
	}
	version, ok := ecma.Finite(row.version)
	switch {
	case !ok:
		return refuse(CodeSchemaDrift, versionHeader+" of the row is not a number")
	case version != *r.task.ExpectedVersion:
		return refuse(CodeConflict, "the row is at another version than expected")
	case r.task.Operation == OpUpdate:
		return t.update(row, p.fields), nil
	}
	return t.remove(row), nil
}

func (t *table) models(fields Row) bool {
	for name := range fields {
		if _, ok := t.columns[name]; !ok {
			return false
		}
	}
	return true
}

func (t *table) insert(key string, fields Row) (undo func()) {
	row := &tableRow{key: key, version: fields[versionHeader], write: fields}
	t.rows[key] = row
	t.order = append(t.order, row)
	return func() {
		delete(t.rows, key)
		row.gone = true
	}
}

func (t *table) update(row *tableRow, fields Row) (undo func()) {
	before := *row
	merged := maps.Clone(before.write)
	if merged == nil {
		merged = Row{}
	}
	maps.Copy(merged, fields)
	row.write, row.version = merged, fields[versionHeader]
	return func() { *row = before }
}

func (t *table) remove(row *tableRow) (undo func()) {
	delete(t.rows, row.key)
	row.gone = true
	return func() {
		t.rows[row.key] = row
		row.gone = false
	}
}

// applyGroup applies a whole transaction to the tables, or nothing of it.
func applyGroup(tables map[string]*table, g *group) *Error {
	var undo []func()
	for _, r := range g.rows {
		t := tables[r.task.Sheet]
		back, failure := (func())(nil), (*Error)(nil)
		if t == nil {
			failure = &Error{Code: CodeSheetNotFound, Task: r.task.ID, Sheet: r.task.Sheet, Detail: "the table is not set up or its sheet is gone"}
		} else {
			back, failure = t.apply(r)
		}
		if failure != nil {
			for _, f := range slices.Backward(undo) {
				f()
			}
			return failure
		}
		undo = append(undo, back)
	}
	return nil
}

// requests answers the edits that make the sheet what the table became: updates where the rows stand, deletes from
// the bottom up, then the new rows after the last one.
func (t *table) requests() []*sheetsv4.Request {
	var requests, deletes []*sheetsv4.Request
	var added []*tableRow
	gone := 0
	for i := 0; i < len(t.order); i++ {
		switch row := t.order[i]; {
		case row.at == 0 && !row.gone:
			added = append(added, row)
		case row.at > 0 && row.gone:
			first := row.at
			for i+1 < len(t.order) && t.order[i+1].gone && t.order[i+1].at == t.order[i].at+1 {
				i++
			}
			gone += t.order[i].at - first + 1
			deletes = append(deletes, grid.DeleteRows(t.tab.ID, first, t.order[i].at))
		case row.write != nil && !row.gone:
			requests = append(requests, t.writeRow(row.at, row.write)...)
		}
	}
	slices.Reverse(deletes)
	requests = append(requests, deletes...)
	at := t.last - gone + 1
	requests = append(requests, grid.Room(t.tab.ID, at, len(added), t.tab.Rows-gone)...)
	if len(added) > 0 {
		requests = append(requests, t.writeNew(at, added))
	}
	return requests
}

// writeNew writes rows that have just been made: cells of other fields are blank anyhow.
func (t *table) writeNew(at int, added []*tableRow) *sheetsv4.Request {
	width := 0
	for _, row := range added {
		for name := range row.write {
			width = max(width, t.columns[name]+1)
		}
	}
	cells := make([][]any, len(added))
	for i, row := range added {
		cells[i] = make([]any, width)
		for name, v := range row.write {
			cells[i][t.columns[name]] = v
		}
	}
	return grid.Write(t.tab.ID, at, 0, cells)
}

// writeRow writes the given fields and no other cell: one request for each run of neighbouring columns.
func (t *table) writeRow(at int, fields Row) []*sheetsv4.Request {
	var columns []int
	byColumn := map[int]any{}
	for name, v := range fields {
		columns = append(columns, t.columns[name])
		byColumn[t.columns[name]] = v
	}
	slices.Sort(columns)
	var requests []*sheetsv4.Request
	for i := 0; i < len(columns); {
		first := columns[i]
		var cells []any
		for ; i < len(columns) && columns[i] == first+len(cells); i++ {
			cells = append(cells, byColumn[columns[i]])
		}
		requests = append(requests, grid.Write(t.tab.ID, at, first, [][]any{cells}))
	}
	return requests
}

// aftermath says where the rows that requests touches, and their neighbours, stand afterwards: the rows from and to, 0 if none is
// touched, and the keys of those among them that the table knows. If somebody moved rows meanwhile, others stand there.
func (t *table) aftermath() (from, to int, keys map[int]string) {
	keys = map[int]string{1: t.keyHeader}
	gone, added := 0, 0
	touch := func(at int) {
		if from == 0 || at-1 < from {
			from = max(1, at-1)
		}
		to = max(to, at+1)
	}
	for _, row := range t.order {
		switch {
		case row.at > 0 && row.gone:
			touch(row.at - gone)
			gone++
		case row.at > 0:
			keys[row.at-gone] = row.key
			if row.write != nil {
				touch(row.at - gone)
			}
		}
	}
	for _, row := range t.order {
		if row.at == 0 && !row.gone {
			added++
			keys[t.last-gone+added] = row.key
			touch(t.last - gone + added)
		}
	}
	return from, min(to, grownBy(t.tab.Rows-gone, t.last-gone+1, added)), keys
}
