package grid

import (
	sheetsv4 "google.golang.org/api/sheets/v4"
)

// Write is the request that sets a rectangle of cells, from a row (counting from 1) and a column (from 0) on. Text is
// stored as it is: a leading = or ' means nothing. Nil blanks a cell.
func Write(sheetID int64, row, col int, cells [][]any) *sheetsv4.Request {
	rows := make([]*sheetsv4.RowData, len(cells))
	for r, line := range cells {
		rows[r] = &sheetsv4.RowData{Values: make([]*sheetsv4.CellData, len(line))}
		for c, v := range line {
			rows[r].Values[c] = &sheetsv4.CellData{UserEnteredValue: extended(v)}
		}
	}
	return &sheetsv4.Request{UpdateCells: &sheetsv4.UpdateCellsRequest{
		Start:  &sheetsv4.GridCoordinate{SheetId: sheetID, RowIndex: int64(row - 1), ColumnIndex: int64(col)},
		Rows:   rows,
		Fields: "userEnteredValue",
	}}
}

// extended uses pointers, so that 0, false and "" reach the wire.
func extended(v any) *sheetsv4.ExtendedValue {
	switch v := v.(type) {
	case string:
		if v != "" {
			return &sheetsv4.ExtendedValue{StringValue: &v}
		}
	case float64:
		return &sheetsv4.ExtendedValue{NumberValue: &v}
	case bool:
		return &sheetsv4.ExtendedValue{BoolValue: &v}
	}
	return nil
}

// Room is the request that makes n empty rows at row, counting from 1, in a grid of gridRows rows. What stands
// there moves down: nothing that a reader did not see is ever overwritten. No request is needed for n of 0.
func Room(sheetID int64, row, n, gridRows int) []*sheetsv4.Request {
	if n == 0 {
		return nil
	}
	if row > gridRows {
		return []*sheetsv4.Request{{AppendDimension: &sheetsv4.AppendDimensionRequest{
			SheetId: sheetID, Dimension: "ROWS", Length: int64(n + row - 1 - gridRows),
		}}}
	}
	return []*sheetsv4.Request{{InsertDimension: &sheetsv4.InsertDimensionRequest{
		Range: rowSpan(sheetID, row, row+n-1),
	}}}
}

// DeleteRows is the request that removes the rows from first to last.
func DeleteRows(sheetID int64, first, last int) *sheetsv4.Request {
	return &sheetsv4.Request{DeleteDimension: &sheetsv4.DeleteDimensionRequest{Range: rowSpan(sheetID, first, last)}}
}

// rowSpan never leaves an end open: last is at least 1, so the end index is never the zero that would be left out.
func rowSpan(sheetID int64, first, last int) *sheetsv4.DimensionRange {
	return &sheetsv4.DimensionRange{
		SheetId: sheetID, Dimension: "ROWS", StartIndex: int64(first - 1), EndIndex: int64(last),
		ForceSendFields: []string{"StartIndex"},
	}
}

// AddColumns is the request that appends n columns to a grid.
func AddColumns(sheetID int64, n int) *sheetsv4.Request {
	return &sheetsv4.Request{AppendDimension: &sheetsv4.AppendDimensionRequest{
		SheetId: sheetID, Dimension: "COLUMNS", Length: int64(n),
	}}
}

// AddTab is the request that adds a sheet with a chosen id.
func AddTab(sheetID int64, title string, rows, cols int, hidden bool) *sheetsv4.Request {
	return &sheetsv4.Request{AddSheet: &sheetsv4.AddSheetRequest{Properties: &sheetsv4.SheetProperties{
		SheetId: sheetID, Title: title, Hidden: hidden,
		GridProperties: &sheetsv4.GridProperties{RowCount: int64(rows), ColumnCount: int64(cols)},
	}}}
}

// DeleteTab is the request that deletes a sheet.
func DeleteTab(sheetID int64) *sheetsv4.Request {
	return &sheetsv4.Request{DeleteSheet: &sheetsv4.DeleteSheetRequest{SheetId: sheetID}}
}

// Rename is the request that gives a sheet another title.
func Rename(sheetID int64, title string) *sheetsv4.Request {
	return &sheetsv4.Request{UpdateSheetProperties: &sheetsv4.UpdateSheetPropertiesRequest{
		Properties: &sheetsv4.SheetProperties{SheetId: sheetID, Title: title}, Fields: "title",
	}}
}

// Protection says who may edit an internal sheet.
type Protection struct {
	// Editors may edit, beside the owner. Nobody is named by default.
	Editors []string
	// WarningOnly warns everybody and stops nobody: for queues that several identities write.
	WarningOnly bool
}

// Protect is the request that protects a whole sheet.
func (p Protection) Protect(sheetID int64) *sheetsv4.Request {
	protected := &sheetsv4.ProtectedRange{
		Range: &sheetsv4.GridRange{SheetId: sheetID}, WarningOnly: p.WarningOnly,
		Description: "Written by a queue. Edits may be lost.",
	}
	if !p.WarningOnly && len(p.Editors) > 0 {
		protected.Editors = &sheetsv4.Editors{Users: p.Editors}
	}
	return &sheetsv4.Request{AddProtectedRange: &sheetsv4.AddProtectedRangeRequest{ProtectedRange: protected}}
}
