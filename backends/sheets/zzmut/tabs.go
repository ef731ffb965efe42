package sheetstest

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/sheets/v4"
)

// addSheetRequest tells an absent sheetId from a zero one.
type addSheetRequest struct {
	Properties struct {
		sheets.SheetProperties
		SheetID *int64 `json:"sheetId"`
	} `json:"properties"`
}

func addSheet(d *draft, req *addSheetRequest) (*sheets.Response, error) {
	p := req.Properties
	t := newTab(0, p.Title)
	t.hidden = p.Hidden
	if p.SheetID != nil {
		t.id = *p.SheetID
	} else {
		t.id = d.unused(func(id int64) bool { return d.tab(id) != nil })
	}
	if t.title == "" {
		t.title = d.freeTitle()
	}
	if g := p.GridProperties; g != nil && g.RowCount != 0 {
		t.rows = int(g.RowCount)
	}
	if g := p.GridProperties; g != nil && g.ColumnCount != 0 {
		t.cols = int(g.ColumnCount)
	}
	if err := d.admit(t); err != nil {
		return nil, err
	}
	d.tabs = append(d.tabs, t)
	d.owned[t] = true
	return &sheets.Response{AddSheet: &sheets.AddSheetResponse{Properties: d.properties(len(d.tabs) - 1)}}, d.fits()
}

// admit checks a new tab against the book.
func (d *draft) admit(t *tab) error {
	if t.id < 0 || t.id > maxID {
		return invalid("Invalid sheetId: %d", t.id)
	}
	if d.tab(t.id) != nil {
		return invalid("A sheet with id %d already exists.", t.id)
	}
	if err := t.checkSize(); err != nil {
		return err
	}
	return d.checkTitle(t.title)
}

func (d *draft) freeTitle() string {
	for n := len(d.tabs) + 1; ; n++ {
		if title := fmt.Sprintf("Sheet%d", n); d.checkTitle(title) == nil {
			return title
		}
	}
}

func (d *draft) checkTitle(title string) error {
	switch n := d.traits.length(title); {
	case n == 0:
		return invalid("The sheet name cannot be empty.")
	case n > maxTitleLength:
		return invalid("The sheet name is %d characters long; the maximum is %d.", n, maxTitleLength)
	}
	if slices.ContainsFunc(d.tabs, func(t *tab) bool { return strings.EqualFold(t.title, title) }) {
		return invalid("A sheet with the name %q already exists. Please enter another name.", title)
	}
	return nil
}

func (t *tab) checkSize() error {
	if t.rows < 1 || t.cols < 1 || t.cols > maxColumns {
		return invalid("A grid has at least one row and between 1 and %d columns, got %d rows and %d columns.", maxColumns, t.rows, t.cols)
	}
	return nil
}

func deleteSheet(d *draft, req *sheets.DeleteSheetRequest) (*sheets.Response, error) {
	t, err := d.editable(req.SheetId)
	if err != nil {
		return nil, err
	}
	d.tabs = slices.DeleteFunc(d.tabs, func(other *tab) bool { return other == t })
	if d.firstVisible() == nil {
		return nil, invalid("You can't remove all the visible sheets in a document.")
	}
	d.dropMetadata(func(e *entry) bool { return e.place == place{sheet: t.id} })
	return &sheets.Response{}, nil
}

func updateSheetProperties(d *draft, req *sheets.UpdateSheetPropertiesRequest) (*sheets.Response, error) {
	if req.Properties == nil || req.Fields == "" {
		return nil, errNoFields
	}
	t, err := d.editable(req.Properties.SheetId)
	if err != nil {
		return nil, err
	}
	for field := range strings.SplitSeq(req.Fields, ",") {
		if err := d.setProperty(t, strings.TrimSpace(field), req.Properties); err != nil {
			return nil, err
		}
	}
	if d.firstVisible() == nil {
		return nil, invalid("You can't hide all the sheets in a document.")
	}
	if err := t.checkSize(); err != nil {
		return nil, err
	}
	t.crop()
	return &sheets.Response{}, d.fits()
}

func (d *draft) setProperty(t *tab, field string, p *sheets.SheetProperties) error {
	g := p.GridProperties
	if g == nil {
		g = &sheets.GridProperties{}
	}
	switch field {
	case "title":
		return d.rename(t, p.Title)
	case "hidden":
		t.hidden = p.Hidden
	case "gridProperties":
		t.rows, t.cols = int(g.RowCount), int(g.ColumnCount)
	case "gridProperties.rowCount":
		t.rows = int(g.RowCount)
	case "gridProperties.columnCount":
		t.cols = int(g.ColumnCount)
	default:
		return unmodelled("the sheet property %q", field)
	}
	return nil
}

func (d *draft) rename(t *tab, title string) error {
	t.title = "" // Its own old title is no obstacle.
	err := d.checkTitle(title)
	t.title = title
	return err
}

// crop drops what a shrunk grid no longer holds.
func (t *tab) crop() {
	t.data = t.data[:min(len(t.data), t.rows)]
	for r, cells := range t.data {
		t.data[r] = cells[:min(len(cells), t.cols)]
	}
}
