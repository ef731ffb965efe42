package sheets

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
)

// tableRef says where a table is kept, and by which column its rows are told apart.
type tableRef struct{ name, title, keyHeader string }

// refs answers the tables that groups need, as far as they are set up. The meta sheet's mapping is the only source.
func (q *Queue) refs(meta *metaSheet, groups []*group) []tableRef {
	var refs []tableRef
	for _, g := range groups {
		for _, r := range g.rows {
			sheets, err := meta.mapping(r.task.Sheet)
			known := slices.ContainsFunc(refs, func(ref tableRef) bool { return ref.name == r.task.Sheet })
			if err != nil || sheets == nil || known {
				continue
			}
			refs = append(refs, tableRef{r.task.Sheet, sheets.Canonical, cmp.Or(q.keyHeader(*sheets), r.task.KeyHeader)})
		}
	}
	return refs
}

// keyHeader is the key column of a table, as it was set up; for one that another kind of writer set up it is the configured
// one, or "".
func (q *Queue) keyHeader(sheets sheetMapping) string {
	if sheets.Key != "" {
		return sheets.Key
	}
	for _, t := range q.config.Tables {
		if t.Name == sheets.Logical {
			return t.Key
		}
	}
	return ""
}

// tableRanges show the header, the keys and the versions of a canonical sheet. Of one whose columns are not known,
// they show the header.
func (q *Queue) tableRanges(ref tableRef) []string {
	q.mu.Lock()
	columns := q.headers[ref.title]
	q.mu.Unlock()
	ranges := []string{grid.RowRange(ref.title, 1)}
	for _, header := range []string{ref.keyHeader, versionHeader} {
		if c, ok := columns[header]; ok {
			ranges = append(ranges, grid.ColumnRange(ref.title, c, 1, 0))
		}
	}
	return ranges
}

// knows says whether the columns of a table are known, and with that its sheet.
func (q *Queue) knows(ref tableRef) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.headers[ref.title] != nil
}

// hide forgets the columns of tables.
func (q *Queue) hide(refs []tableRef) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, ref := range refs {
		delete(q.headers, ref.title)
	}
}

// tablesOf reads the tables that a view shows. It leaves out those whose columns are not where the ranges were made
// for, and remembers where they are.
func (q *Queue) tablesOf(view *grid.View, refs []tableRef) map[string]*table {
	tables := map[string]*table{}
	for _, ref := range refs {
		tab := view.Tabs[ref.title]
		if tab == nil {
			continue
		}
		t := newTable(ref.name, ref.keyHeader, tab)
		q.mu.Lock()
		hint := q.headers[ref.title]
		q.headers[ref.title] = t.columns
		q.mu.Unlock()
		_, shownKeys := hint[ref.keyHeader]
		if t.drift != "" || shownKeys && sameColumn(hint, t.columns, ref.keyHeader) && sameColumn(hint, t.columns, versionHeader) {
			tables[ref.name] = t
		}
	}
	return tables
}

func sameColumn(a, b map[string]int, header string) bool {
	x, ok := a[header]
	y, okToo := b[header]
	return ok && okToo && x == y
}

// needTables answers the tables of refs as commit st.fence.Number left them: those that st shows, and the others by a read. A
// table whose sheet is gone is left out.
func (q *Queue) needTables(ctx context.Context, st *state, refs []tableRef) (map[string]*table, error) {
	tables := map[string]*table{}
	var missing []tableRef
	for _, ref := range refs {
		if t := st.tables[ref.name]; t != nil && t.keyHeader == ref.keyHeader {
			tables[ref.name] = t.clone() // The state is shared, and groups are applied in place.
		} else {
			missing = append(missing, ref)
		}
	}
	// Once for the headers, once for the columns they name; more often only if somebody moves columns meanwhile.
	for range 5 {
		if len(missing) == 0 {
			return tables, nil
		}
		var ranges []string
		for _, ref := range missing {
			ranges = append(ranges, q.tableRanges(ref)...)
		}
		view, err := q.readAt(ctx, st, ranges)
		if failure, ok := errors.AsType[*grid.Failure](err); ok && failure.Kind == grid.Refused {
			if missing, err = q.existing(ctx, missing); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		for name, t := range q.tablesOf(view, missing) {
			tables[name] = t
		}
		missing = slices.DeleteFunc(missing, func(ref tableRef) bool { return tables[ref.name] != nil })
	}
	return nil, errMoved
}

// readAt reads ranges as the commit of st left them.
func (q *Queue) readAt(ctx context.Context, st *state, ranges []string) (*grid.View, error) {
	view, err := q.client.Read(ctx, append([]string{fence.Range()}, ranges...)...)
	if err != nil {
		return nil, err
	}
	f, err := q.fence.Decode(view)
	if err != nil {
		return nil, err
	}
	if f.Number != st.fence.Number || f.Token != st.fence.Token {
		return nil, errMoved
	}
	return view, nil
}

// existing leaves out the tables whose sheets are gone. What was known of the columns of the others may be wrong.
func (q *Queue) existing(ctx context.Context, refs []tableRef) ([]tableRef, error) {
	view, err := q.tabs(ctx, titles(refs)...)
	if err != nil {
		return nil, err
	}
	q.hide(refs)
	return slices.DeleteFunc(slices.Clone(refs), func(ref tableRef) bool { return view.Tabs[ref.title] == nil }), nil
}

func titles(refs []tableRef) []string {
	var all []string
	for _, ref := range refs {
		all = append(all, ref.title)
	}
	return all
}

// wholeTables reads the given tables with all their fields. A table whose sheet is gone is left out.
func (q *Queue) wholeTables(ctx context.Context, st *state, refs []tableRef) (map[string]*table, error) {
	var ranges []string
	for _, ref := range refs {
		ranges = append(ranges, grid.Quote(ref.title))
	}
	view, err := q.readAt(ctx, st, ranges)
	if failure, ok := errors.AsType[*grid.Failure](err); ok && failure.Kind == grid.Refused {
		left, err := q.existing(ctx, refs)
		switch {
		case err != nil:
			return nil, err
		case len(left) == len(refs):
			return nil, errMoved
		}
		return q.wholeTables(ctx, st, left)
	}
	if err != nil {
		return nil, err
	}
	tables := map[string]*table{}
	for _, ref := range refs {
		if tab := view.Tabs[ref.title]; tab != nil {
			tables[ref.name] = newTable(ref.name, ref.keyHeader, tab)
		}
	}
	return tables, nil
}
