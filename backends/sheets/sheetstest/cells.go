package sheetstest

import (
	"math"
	"slices"
	"strings"

	"google.golang.org/api/sheets/v4"
)

func updateCells(d *draft, req *sheets.UpdateCellsRequest) (*sheets.Response, error) {
	if (req.Start == nil) == (req.Range == nil) {
		return nil, invalid("Exactly one of start and range must be set.")
	}
	w, err := d.writer(req.Fields, req.Rows)
	if err != nil {
		return nil, err
	}
	if req.Range != nil {
		return &sheets.Response{}, w.fill(req.Range)
	}
	t, err := d.editable(req.Start.SheetId)
	if err != nil {
		return nil, err
	}
	return &sheets.Response{}, w.write(t, int(req.Start.RowIndex), int(req.Start.ColumnIndex))
}

// appendCells writes below the last row that had a value when the batch
// arrived. What came in between is overwritten: that is how appends lose rows.
func appendCells(d *draft, req *sheets.AppendCellsRequest) (*sheets.Response, error) {
	w, err := d.writer(req.Fields, req.Rows)
	if err != nil {
		return nil, err
	}
	t, err := d.editable(req.SheetId)
	if err != nil {
		return nil, err
	}
	row, width := d.appendRow(t), 0
	for _, r := range req.Rows {
		width = max(width, len(r.Values))
	}
	t.rows, t.cols = max(t.rows, row+len(req.Rows)), max(t.cols, width)
	d.appended[t.id] += len(req.Rows)
	if err := d.fits(); err != nil {
		return nil, err
	}
	return &sheets.Response{}, w.write(t, row, 0)
}

// appendRow is the row at which an append to the tab goes on: below what the
// batch sees, unless the tab has changed since the batch arrived.
func (d *draft) appendRow(t *tab) int {
	if d.arrival == nil || d.arrival.tab(t.id) == d.base.tab(t.id) {
		return t.lastRow()
	}
	arrived := 0
	if seen := d.arrival.tab(t.id); seen != nil {
		arrived = seen.lastRow()
	}
	return arrived + d.appended[t.id]
}

// writer writes rows of cell data under a mask.
type writer struct {
	draft       *draft
	rows        []*sheets.RowData
	value, note bool
}

func (d *draft) writer(fields string, rows []*sheets.RowData) (*writer, error) {
	w := &writer{draft: d, rows: rows}
	if fields == "" {
		return nil, errNoFields
	}
	if slices.Contains(rows, nil) {
		return nil, firmly("Invalid value at 'rows': null")
	}
	for field := range strings.SplitSeq(fields, ",") {
		switch strings.TrimSpace(field) {
		case "*":
			w.value, w.note = true, true
		case "userEnteredValue":
			w.value = true
		case "note":
			w.note = true
		default:
			return nil, unmodelled("the cell field %q", field)
		}
	}
	return w, nil
}

// write puts the rows at a coordinate. Nothing grows: the grid must hold them.
func (w *writer) write(t *tab, row, col int) error {
	for i, r := range w.rows {
		if err := w.row(t, row+i, col, r.Values); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) row(t *tab, row, col int, cells []*sheets.CellData) error {
	if row < 0 || col < 0 || row >= t.rows || col+len(cells) > t.cols {
		return invalid("Attempting to write row %d, columns %d to %d, beyond the grid of %d rows and %d columns",
			row, col, col+len(cells), t.rows, t.cols)
	}
	if len(cells) == 0 {
		return nil
	}
	values := make([]cell, len(cells))
	for i, data := range cells {
		c, err := w.draft.cell(data)
		if err != nil {
			return err
		}
		values[i] = c
	}
	t.update(row, col, len(cells), func(i int, old cell) cell { return w.merge(old, values[i]) })
	return nil
}

func (w *writer) merge(old, next cell) cell {
	if w.value {
		old.value = next.value
	}
	if w.note {
		old.note = next.note
	}
	return old
}

// fill writes the rows into a range and clears the rest of it.
func (w *writer) fill(r *sheets.GridRange) error {
	a, err := w.draft.area(r)
	if err != nil {
		return err
	}
	t, err := w.draft.editable(a.tab.id)
	if err != nil {
		return err
	}
	for row := a.row; row < min(a.endRow, len(t.data)); row++ {
		t.update(row, a.col, a.cols(), func(_ int, old cell) cell { return w.merge(old, cell{}) })
	}
	for i, r := range w.rows {
		if i >= a.rows() || len(r.Values) > a.cols() {
			return invalid("Attempting to write beyond the requested range")
		}
	}
	return w.write(t, a.row, a.col)
}

// cell checks and converts one cell of a request.
func (d *draft) cell(data *sheets.CellData) (cell, error) {
	if data == nil {
		return cell{}, firmly("Invalid value at 'values': null")
	}
	if v := data.UserEnteredValue; v != nil {
		value, err := d.value(v)
		return cell{value: value, note: data.Note}, err
	}
	return cell{note: data.Note}, nil
}

// value reads the one field of an extended value that is present. The client's
// pointers tell 0, false and "" from absent ones.
func (d *draft) value(v *sheets.ExtendedValue) (any, error) {
	var values []any
	if v.NumberValue != nil {
		values = append(values, *v.NumberValue)
	}
	if v.BoolValue != nil {
		values = append(values, *v.BoolValue)
	}
	if v.StringValue != nil {
		values = append(values, *v.StringValue)
	}
	if v.FormulaValue != nil {
		values = append(values, Formula(*v.FormulaValue))
	}
	switch {
	case len(values) > 1:
		return nil, firmly("Invalid value: oneof field 'value' is already set.")
	case v.ErrorValue != nil:
		return nil, invalid("ErrorValue is read-only.")
	case len(values) == 0:
		return nil, nil
	}
	return d.entered(values[0])
}

// entered checks a value on its way into a cell.
func (d *draft) entered(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if v == "" && !d.traits.keepEmptyText {
			return nil, nil
		}
		return v, d.text(v)
	case Formula:
		if !strings.HasPrefix(string(v), "=") {
			return nil, invalid("A formula must start with '='.")
		}
		return v, d.text(string(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, firmly("A cell cannot hold %v.", v)
		}
		return v, nil
	case nil, bool:
		return v, nil
	}
	return nil, firmly("A cell cannot hold a %T.", v)
}
