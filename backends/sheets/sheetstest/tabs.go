package sheetstest

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/sheets/v4"
)

// addSheetRequest tells an absent sheetId or index from a zero one.
type addSheetRequest struct {
	Properties struct {
		sheets.SheetProperties
		SheetID *int64 `json:"sheetId"`
		Index   *int64 `json:"index"`
	} `json:"properties"`
}

func addSheet(d *draft, req *addSheetRequest) (*sheets.Response, error) {
	p := req.Properties
	t := newTab(d.freeSheetID(), p.Title)
	if p.SheetID != nil {
		t.id = *p.SheetID
	}
	if t.title == "" {
		t.title = d.freeTitle()
	}
	t.hidden = p.Hidden
	if g := p.GridProperties; g != nil {
		t.resize(g)
	}
	if err := d.admit(t); err != nil {
		return nil, err
	}
	at := len(d.tabs)
	if p.Index != nil && *p.Index >= 0 {
		at = min(at, int(*p.Index))
	}
	d.tabs = slices.Insert(d.tabs, at, t)
	d.own(t)
	return &sheets.Response{AddSheet: &sheets.AddSheetResponse{Properties: d.properties(at)}}, d.fits()
}

// resize takes the sizes that are set.
func (t *tab) resize(g *sheets.GridProperties) {
	if g.RowCount != 0 {
		t.rows = int(g.RowCount)
	}
	if g.ColumnCount != 0 {
		t.cols = int(g.ColumnCount)
	}
	t.frozenRows, t.frozenCols = int(g.FrozenRowCount), int(g.FrozenColumnCount)
}

func (d *draft) freeSheetID() int64 {
	for {
		if id := d.random(); d.tab(id) == nil {
			return id
		}
	}
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

func (t *tab) checkSize() error {
	switch {
	case t.rows < 1 || t.cols < 1:
		return invalid("A grid needs at least one row and one column, got %d rows and %d columns.", t.rows, t.cols)
	case t.cols > maxColumns:
		return invalid("A sheet has at most %d columns, got %d.", maxColumns, t.cols)
	case t.frozenRows < 0 || t.frozenRows >= t.rows || t.frozenCols < 0 || t.frozenCols >= t.cols:
		return invalid("You can't freeze all visible rows or columns on the sheet.")
	}
	return nil
}

func deleteSheet(d *draft, req *sheets.DeleteSheetRequest) (*sheets.Response, error) {
	t := d.tab(req.SheetId)
	if t == nil {
		return nil, invalid("No sheet with id: %d", req.SheetId)
	}
	if err := d.editable(t.all()); err != nil {
		return nil, err
	}
	d.tabs = slices.DeleteFunc(slices.Clone(d.tabs), func(other *tab) bool { return other.id == t.id })
	if d.firstVisible() == nil {
		return nil, invalid("You can't remove all the visible sheets in a document.")
	}
	d.metadata = slices.DeleteFunc(slices.Clone(d.metadata), func(e *entry) bool { return e.place.sheet == t.id && !e.place.book })
	return &sheets.Response{}, nil
}

func updateSheetProperties(d *draft, req *sheets.UpdateSheetPropertiesRequest) (*sheets.Response, error) {
	if req.Properties == nil || req.Fields == "" {
		return nil, invalid("At least one field must be listed in 'fields'. (Use '*' to indicate all fields.)")
	}
	t, err := d.writable(req.Properties.SheetId)
	if err != nil {
		return nil, invalid("No sheet with id: %d", req.Properties.SheetId)
	}
	if err := d.editable(t.all()); err != nil {
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
	d.crop(t)
	return &sheets.Response{}, d.fits()
}

func (d *draft) setProperty(t *tab, field string, p *sheets.SheetProperties) error {
	g := p.GridProperties
	if g == nil {
		g = &sheets.GridProperties{}
	}
	switch field {
	case "*":
		for _, f := range []string{"title", "hidden", "index", "gridProperties"} {
			if err := d.setProperty(t, f, p); err != nil {
				return err
			}
		}
	case "title":
		return d.rename(t, p.Title)
	case "hidden":
		t.hidden = p.Hidden
	case "index":
		d.move(t, int(p.Index))
	case "gridProperties":
		t.rows, t.cols = int(g.RowCount), int(g.ColumnCount)
		t.frozenRows, t.frozenCols = int(g.FrozenRowCount), int(g.FrozenColumnCount)
	case "gridProperties.rowCount":
		t.rows = int(g.RowCount)
	case "gridProperties.columnCount":
		t.cols = int(g.ColumnCount)
	case "gridProperties.frozenRowCount":
		t.frozenRows = int(g.FrozenRowCount)
	case "gridProperties.frozenColumnCount":
		t.frozenCols = int(g.FrozenColumnCount)
	default:
		return firmly("Invalid field: %s is not a property of a sheet that is modelled.", field)
	}
	return nil
}

func (d *draft) rename(t *tab, title string) error {
	old := t.title
	t.title = "" // Its own old title is no obstacle.
	if err := d.checkTitle(title); err != nil {
		t.title = old
		return err
	}
	t.title = title
	return nil
}

// move puts the tab in front of the one that has the index now.
func (d *draft) move(t *tab, index int) {
	from := slices.Index(d.tabs, t)
	if index < 0 || index == from || index == from+1 {
		return
	}
	if index > from {
		index--
	}
	tabs := slices.Delete(slices.Clone(d.tabs), from, from+1)
	d.tabs = slices.Insert(tabs, min(index, len(tabs)), t)
}

// crop drops what a shrunk grid no longer holds.
func (d *draft) crop(t *tab) {
	t.data = t.data[:min(len(t.data), t.rows)]
	for r, cells := range t.data {
		t.data[r] = cells[:min(len(cells), t.cols):min(len(cells), t.cols)]
	}
	d.metadata = slices.DeleteFunc(slices.Clone(d.metadata), func(e *entry) bool {
		return e.place.sheet == t.id && (e.place.dimension == "ROWS" && e.place.index >= t.rows || e.place.dimension == "COLUMNS" && e.place.index >= t.cols)
	})
}
