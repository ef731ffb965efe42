package grid

import (
	sheetsv4 "google.golang.org/api/sheets/v4"
)

// A View is what one response showed of a spreadsheet: by assumption one moment of it.
type View struct {
	ID   string
	Tabs map[string]*Tab // by title
}

// A Tab is one sheet of a View.
type Tab struct {
	ID         int64
	Title      string
	Hidden     bool
	Rows, Cols int // The size of the grid, not of the data.
	// Protected says that the caller may not edit some range of the tab. Only properties show it.
	Protected bool
	blocks    []block
}

// A block is one rectangle of values. Blank cells at the end of a row, and blank rows at the end, are missing.
type block struct {
	row, col int
	cells    [][]any
}

// At answers the value of a cell, rows and columns counting from 1 and from 0. It is nil, a string, a float64, a
// bool or [ErrorValue]; and nil for a cell that the view does not show.
func (t *Tab) At(row, col int) any {
	for _, b := range t.blocks {
		r, c := row-1-b.row, col-b.col
		if r >= 0 && r < len(b.cells) && c >= 0 && c < len(b.cells[r]) {
			if v := b.cells[r][c]; v != nil {
				return v
			}
		}
	}
	return nil
}

// Row answers the first n values of a row.
func (t *Tab) Row(row, n int) []any {
	cells := make([]any, n)
	for i := range cells {
		cells[i] = t.At(row, i)
	}
	return cells
}

// Last is the last row that shows a value, 0 if there is none.
func (t *Tab) Last() int {
	last := 0
	for _, b := range t.blocks {
		for r := len(b.cells); r > 0 && b.row+r > last; r-- {
			if !blank(b.cells[r-1]) {
				last = b.row + r
			}
		}
	}
	return last
}

// Width is the number of columns of a row up to its last value.
func (t *Tab) Width(row int) int {
	width := 0
	for _, b := range t.blocks {
		if r := row - 1 - b.row; r >= 0 && r < len(b.cells) {
			for c, v := range b.cells[r] {
				if v != nil {
					width = max(width, b.col+c+1)
				}
			}
		}
	}
	return width
}

func blank(cells []any) bool {
	for _, v := range cells {
		if v != nil {
			return false
		}
	}
	return true
}

// ErrorValue is the value of a cell whose formula fails.
type ErrorValue struct{ Type string }

func viewOf(s *sheetsv4.Spreadsheet) *View {
	v := &View{ID: s.SpreadsheetId, Tabs: map[string]*Tab{}}
	for _, sheet := range s.Sheets {
		if sheet.Properties == nil {
			continue
		}
		t := &Tab{ID: sheet.Properties.SheetId, Title: sheet.Properties.Title, Hidden: sheet.Properties.Hidden}
		if g := sheet.Properties.GridProperties; g != nil {
			t.Rows, t.Cols = int(g.RowCount), int(g.ColumnCount)
		}
		for _, p := range sheet.ProtectedRanges {
			t.Protected = t.Protected || !p.WarningOnly && !p.RequestingUserCanEdit
		}
		for _, data := range sheet.Data {
			t.blocks = append(t.blocks, blockOf(data))
		}
		v.Tabs[t.Title] = t
	}
	return v
}

func blockOf(data *sheetsv4.GridData) block {
	b := block{row: int(data.StartRow), col: int(data.StartColumn), cells: make([][]any, len(data.RowData))}
	for r, row := range data.RowData {
		if row == nil {
			continue
		}
		b.cells[r] = make([]any, len(row.Values))
		for c, cell := range row.Values {
			b.cells[r][c] = valueOf(cell)
		}
	}
	return b
}

// valueOf answers nil for a blank cell and for the empty string, which are one value here.
func valueOf(cell *sheetsv4.CellData) any {
	if cell == nil || cell.EffectiveValue == nil {
		return nil
	}
	switch v := cell.EffectiveValue; {
	case v.StringValue != nil && *v.StringValue != "":
		return *v.StringValue
	case v.NumberValue != nil:
		return *v.NumberValue
	case v.BoolValue != nil:
		return *v.BoolValue
	case v.ErrorValue != nil:
		return ErrorValue{v.ErrorValue.Type}
	}
	return nil
}
