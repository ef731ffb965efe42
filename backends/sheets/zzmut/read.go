package sheetstest

import (
	"slices"
	"strconv"

	"google.golang.org/api/sheets/v4"
)

// view says which part of a book an answer shows.
type view struct {
	areas []area // All tabs, whole, when nil.
	grid  bool   // With the cells.
}

func (b *book) parseRanges(texts []string) ([]area, error) {
	var areas []area
	for _, text := range texts {
		a, err := b.parseA1(text)
		if err != nil {
			return nil, err
		}
		areas = append(areas, a)
	}
	return areas, nil
}

func (b *book) get(ranges []string, grid bool) (any, error) {
	areas, err := b.parseRanges(ranges)
	if err != nil {
		return nil, err
	}
	return b.render(view{areas: areas, grid: grid}), nil
}

// getByDataFilter shows the tabs and areas that the filters select.
func (b *book) getByDataFilter(req *sheets.GetSpreadsheetByDataFilterRequest, grid bool) (any, error) {
	v := view{grid: grid}
	for _, f := range req.DataFilters {
		areas, err := b.selected(f)
		if err != nil {
			return nil, err
		}
		v.areas = append(v.areas, areas...)
	}
	if v.areas == nil && req.DataFilters != nil {
		v.areas = []area{}
	}
	return b.render(v), nil
}

func (b *book) selected(f *sheets.DataFilter) ([]area, error) {
	if f.DeveloperMetadataLookup == nil {
		a, err := b.filterArea(f)
		return []area{a}, err
	}
	match, err := b.matcher(f)
	if err != nil {
		return nil, err
	}
	var areas []area
	for _, e := range b.metadata {
		if match(e) && !e.place.book {
			areas = append(areas, b.tab(e.place.sheet).all())
		}
	}
	return areas, nil
}

// render builds an answer that shares nothing with the book, so that a mask
// may prune it.
func (b *book) render(v view) *sheets.Spreadsheet {
	s := &sheets.Spreadsheet{
		SpreadsheetId:     b.id,
		SpreadsheetUrl:    "https://docs.google.com/spreadsheets/d/" + b.id + "/edit",
		Properties:        &sheets.SpreadsheetProperties{Title: b.title, Locale: "en_US", TimeZone: "Etc/GMT", AutoRecalc: "ON_CHANGE"},
		DeveloperMetadata: b.renderAt(place{book: true}),
	}
	for i, t := range b.tabs {
		areas := []area{t.all()}
		if v.areas != nil {
			areas = t.of(v.areas)
		}
		if len(areas) > 0 {
			s.Sheets = append(s.Sheets, b.renderTab(i, areas, v.grid))
		}
	}
	return s
}

// of picks the areas on the tab.
func (t *tab) of(areas []area) []area {
	var found []area
	for _, a := range areas {
		if a.tab.id == t.id {
			found = append(found, a)
		}
	}
	return found
}

func (b *book) renderTab(index int, areas []area, grid bool) *sheets.Sheet {
	t := b.tabs[index]
	s := &sheets.Sheet{Properties: b.properties(index), DeveloperMetadata: b.renderAt(place{sheet: t.id})}
	for _, p := range t.protected {
		s.ProtectedRanges = append(s.ProtectedRanges, copyProtected(p))
	}
	if grid {
		for _, a := range areas {
			s.Data = append(s.Data, a.render())
		}
	}
	return s
}

func (b *book) properties(index int) *sheets.SheetProperties {
	t := b.tabs[index]
	return &sheets.SheetProperties{
		SheetId: t.id, Title: t.title, Index: int64(index), SheetType: "GRID", Hidden: t.hidden,
		GridProperties:  &sheets.GridProperties{RowCount: int64(t.rows), ColumnCount: int64(t.cols)},
		ForceSendFields: []string{"SheetId", "Index"},
	}
}

// render leaves out trailing blank rows and cells, as the service does; a
// blank row or cell in front of others is an empty object.
func (a area) render() *sheets.GridData {
	g := &sheets.GridData{StartRow: int64(a.row), StartColumn: int64(a.col)}
	blank := 0
	for r := a.row; r < min(a.endRow, len(a.tab.data)); r++ {
		row := &sheets.RowData{Values: a.renderRow(r)}
		if row.Values == nil {
			blank++
			continue
		}
		for ; blank > 0; blank-- {
			g.RowData = append(g.RowData, &sheets.RowData{})
		}
		g.RowData = append(g.RowData, row)
	}
	// Answers without a fields mask pay for these, as at the service.
	g.RowMetadata = slices.Repeat([]*sheets.DimensionProperties{{PixelSize: 21}}, a.rows())
	g.ColumnMetadata = slices.Repeat([]*sheets.DimensionProperties{{PixelSize: 100}}, a.cols())
	return g
}

func (a area) renderRow(row int) []*sheets.CellData {
	end := min(a.endCol, len(a.tab.data[row]))
	for end > a.col && a.tab.data[row][end-1] == (cell{}) {
		end--
	}
	if end <= a.col {
		return nil
	}
	cells := make([]*sheets.CellData, end-a.col)
	for i := range cells {
		cells[i] = a.tab.data[row][a.col+i].render()
	}
	return cells
}

func (c cell) render() *sheets.CellData {
	data := &sheets.CellData{Note: c.note}
	if c.value == nil {
		return data
	}
	data.UserEnteredValue, data.EffectiveValue = extended(c.value), extended(c.value)
	if _, ok := c.value.(Formula); ok {
		data.EffectiveValue = &sheets.ExtendedValue{ErrorValue: &sheets.ErrorValue{Type: "NAME", Message: "Formulas are not computed."}}
	}
	data.FormattedValue = formatted(c.value)
	return data
}

func extended(v any) *sheets.ExtendedValue {
	switch v := v.(type) {
	case string:
		return &sheets.ExtendedValue{StringValue: &v}
	case float64:
		return &sheets.ExtendedValue{NumberValue: &v}
	case bool:
		return &sheets.ExtendedValue{BoolValue: &v}
	case Formula:
		text := string(v)
		return &sheets.ExtendedValue{FormulaValue: &text}
	}
	return nil
}

// formatted is the value as a person sees it under the default format.
func formatted(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		if v {
			return "TRUE"
		}
		return "FALSE"
	case Formula:
		return "#NAME?"
	}
	return ""
}
