package sheets

import (
	"context"
	"iter"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
)

// view is the record of one table's visible sheet: which commit changed the table, and which one it shows.
type view struct {
	st     *state
	sheets sheetMapping
	projectionState
}

func (v *view) behind() bool { return v != nil && v.Synced < v.Changed }

// visible is the second pipeline: its commits are the queue's applies, its projection is the visible sheet.
var visible = projected.WholeRecord(
	fold.New[*Error](func(string) string { return "" }, (*Queue).readView,
		func(v *view, _ string) (*view, struct{}, bool) { return v, struct{}{}, false },
		func(_ *Queue, _ context.Context, _ string, read, _ *view) (*view, error) { return read, nil },
		retrying),
	(*view).behind,
	(*Queue).showTable,
)

func (q *Queue) readView(ctx context.Context, sheet string) (*view, error) {
	st, err := q.load(ctx)
	if err != nil {
		return nil, err
	}
	sheets, invalid := st.meta.mapping(sheet)
	switch {
	case invalid != nil:
		return nil, invalid
	case sheets == nil:
		return nil, &Error{Code: CodeSheetNotFound, Sheet: sheet, Detail: "the table is not set up"}
	}
	v := &view{st: st, sheets: *sheets}
	if _, invalid := st.meta.load(stateKey+sheet, &v.projectionState); invalid != nil {
		return nil, invalid
	}
	return v, nil
}

func (q *Queue) behindTables(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		st, err := q.read(ctx)
		if err != nil {
			yield("", err)
			return
		}
		for _, name := range st.meta.logicals() {
			var p projectionState
			if _, err := st.meta.load(stateKey+name, &p); err == nil && p.Synced < p.Changed && !yield(name, nil) {
				return
			}
		}
	}
}

// SyncProjection brings the visible sheet of a table up to date with its canonical sheet. Only cells that differ are
// written; edits of modelled cells in the visible sheet are overwritten, other columns are left alone. It does nothing if
// no transaction changed the table since the last time.
func (q *Queue) SyncProjection(ctx context.Context, sheet string) error {
	_, err := visible.Provide(q).Resume(ctx, sheet)
	return err
}

// showTable writes what differs. A difference that exceeds a request is written in several commits; the last one says
// that the sheet is up to date.
func (q *Queue) showTable(ctx context.Context, _ string, v *view) error {
	requests, err := q.differences(ctx, v)
	if err != nil {
		return errorOf(err)
	}
	st := v.st
	for {
		n, weight := 0, overhead
		for n < len(requests) && weight < maxRequest {
			weight += requestSize(requests[n])
			if weight < maxRequest || n == 0 {
				n++
			}
		}
		ch := change{requests: requests[:n]}
		if requests = requests[n:]; len(requests) == 0 {
			ch.meta = map[string]string{stateKey + v.sheets.Logical: jsonText(projectionState{v.Changed, v.Changed})}
		}
		if st, err = q.commit(ctx, st, ch); err != nil || len(requests) == 0 {
			return err
		}
	}
}

func requestSize(r *sheetsv4.Request) int {
	size := 300
	if r.UpdateCells == nil {
		return size
	}
	for _, row := range r.UpdateCells.Rows {
		for _, cell := range row.Values {
			size += 60
			if v := cell.UserEnteredValue; v != nil && v.StringValue != nil {
				size += encodedSize([]any{*v.StringValue})
			}
		}
	}
	return size
}

// differences answers the edits that make the visible sheet show the canonical one, row by row in its order.
func (q *Queue) differences(ctx context.Context, v *view) ([]*sheetsv4.Request, error) {
	ref := tableRef{v.sheets.Logical, v.sheets.Canonical, q.keyHeader(v.sheets)}
	shownAs := tableRef{v.sheets.Logical + " (visible)", v.sheets.Projection, ref.keyHeader}
	tables, err := q.wholeTables(ctx, v.st, []tableRef{ref, shownAs})
	if err != nil {
		return nil, err
	}
	from, to := tables[ref.name], tables[shownAs.name]
	switch {
	case from == nil:
		return nil, &Error{Code: CodeSheetNotFound, Sheet: v.sheets.Canonical, Detail: "the canonical sheet is gone"}
	case to == nil:
		return nil, &Error{Code: CodeSheetNotFound, Sheet: v.sheets.Projection, Detail: "the visible sheet is gone"}
	case from.drift != "":
		return nil, &Error{Code: CodeSchemaDrift, Sheet: v.sheets.Canonical, Detail: from.drift}
	}
	columns, _, drift := headerOf(to.tab)
	var shared [][2]int
	for name, c := range from.columns {
		if at, ok := columns[name]; ok {
			shared = append(shared, [2]int{c, at})
		}
	}
	if drift != "" || len(shared) < len(from.columns) {
		return nil, &Error{Code: CodeSchemaDrift, Sheet: v.sheets.Projection, Row: 1, Detail: "the header lacks columns of the table, or has one twice"}
	}
	requests := grid.Room(to.tab.ID, to.tab.Rows+1, max(0, len(from.order)+1-to.tab.Rows), to.tab.Rows)
	for i := range max(len(from.order), to.tab.Last()-1) {
		requests = append(requests, differingCells(from, to, shared, i)...)
	}
	return requests, nil
}

// differingCells compares the i-th row; beyond the canonical ones every modelled cell is to be blank.
func differingCells(from, to *table, shared [][2]int, i int) []*sheetsv4.Request {
	var requests []*sheetsv4.Request
	for _, c := range shared {
		var want any
		if i < len(from.order) {
			want = from.tab.At(from.order[i].at, c[0])
		}
		if _, ok := ecma.String(want); !ok {
			want = nil // A formula's error cannot be written.
		}
		if to.tab.At(i+2, c[1]) != want {
			requests = append(requests, grid.Write(to.tab.ID, i+2, c[1], [][]any{{want}}))
		}
	}
	return requests
}
