package sheetstest

import (
	"slices"

	"google.golang.org/api/sheets/v4"
)

// entry is one developer metadata entry. Entries never change; a moved one is
// a copy.
type entry struct {
	id                     int64
	key, value, visibility string
	place                  place
}

// place is where metadata is attached: the book, a sheet, or one row or column
// of a sheet.
type place struct {
	book      bool
	sheet     int64
	dimension string // "", "ROWS" or "COLUMNS".
	index     int
}

// createMetadataRequest tells an absent sheetId from a zero one.
type createMetadataRequest struct {
	DeveloperMetadata struct {
		sheets.DeveloperMetadata
		Location *struct {
			sheets.DeveloperMetadataLocation
			SheetID *int64 `json:"sheetId"`
		} `json:"location"`
	} `json:"developerMetadata"`
}

func createDeveloperMetadata(d *draft, req *createMetadataRequest) (*sheets.Response, error) {
	m := req.DeveloperMetadata
	e := &entry{id: m.MetadataId, key: m.MetadataKey, value: m.MetadataValue, visibility: m.Visibility}
	switch {
	case e.key == "":
		return nil, invalid("Developer metadata must have a key.")
	case e.visibility != "DOCUMENT" && e.visibility != "PROJECT":
		return nil, invalid("Developer metadata must have a visibility, got %q.", e.visibility)
	case e.id < 0 || e.id > maxID:
		return nil, invalid("Developer metadata ids must be positive, got %d.", e.id)
	case m.Location == nil:
		return nil, invalid("Developer metadata must have a location.")
	}
	var err error
	if e.place, err = d.place(&m.Location.DeveloperMetadataLocation, m.Location.SheetID); err != nil {
		return nil, err
	}
	if e.id, err = d.metadataID(e.id); err != nil {
		return nil, err
	}
	d.metadata = append(slices.Clip(d.metadata), e)
	if n := d.metadataLength(e.place); n > maxMetadataLength {
		return nil, invalid("Developer metadata of one location may hold %d characters, got %d.", maxMetadataLength, n)
	}
	return &sheets.Response{CreateDeveloperMetadata: &sheets.CreateDeveloperMetadataResponse{DeveloperMetadata: e.render()}}, nil
}

// metadataID refuses an id in use, and finds one when none is asked for.
func (d *draft) metadataID(asked int64) (int64, error) {
	inUse := func(id int64) bool {
		return slices.ContainsFunc(d.metadata, func(e *entry) bool { return e.id == id })
	}
	switch {
	case asked == 0:
		for asked == 0 || inUse(asked) {
			asked = d.random()
		}
	case inUse(asked) && !d.traits.acceptDuplicateIDs:
		return 0, firmly("%s", d.traits.duplicateID)
	}
	return asked, nil
}

// metadataLength sums what counts towards the same limit as a place: the
// book's own metadata, or everything on one sheet, its rows and its columns.
func (d *draft) metadataLength(p place) int {
	n := 0
	for _, e := range d.metadata {
		if e.place.book == p.book && e.place.sheet == p.sheet {
			n += d.traits.length(e.key) + d.traits.length(e.value)
		}
	}
	return n
}

// place resolves a location; sheetID is nil when absent.
func (b *book) place(l *sheets.DeveloperMetadataLocation, sheetID *int64) (place, error) {
	p := place{book: l.Spreadsheet}
	switch r := l.DimensionRange; {
	case l.Spreadsheet && sheetID == nil && r == nil:
		return p, nil
	case !l.Spreadsheet && sheetID != nil && r == nil:
		p.sheet = *sheetID
	case !l.Spreadsheet && sheetID == nil && r != nil && r.EndIndex == r.StartIndex+1:
		p.sheet, p.dimension, p.index = r.SheetId, r.Dimension, int(r.StartIndex)
	default:
		return place{}, invalid("Developer metadata must be located on one spreadsheet, sheet, row or column.")
	}
	t := b.tab(p.sheet)
	if t == nil {
		return place{}, invalid("No sheet with id: %d", p.sheet)
	}
	if p.dimension == "" {
		return p, nil
	}
	if err := checkDimension(p.dimension); err != nil {
		return place{}, err
	}
	if p.index < 0 || p.index >= t.size(p.dimension) {
		return place{}, invalid("range.startIndex[%d] is beyond the grid", p.index)
	}
	return p, nil
}

func deleteDeveloperMetadata(d *draft, req *sheets.DeleteDeveloperMetadataRequest) (*sheets.Response, error) {
	if req.DataFilter == nil {
		return nil, invalid("A dataFilter must be specified.")
	}
	match, err := d.matcher(req.DataFilter)
	if err != nil {
		return nil, err
	}
	res := &sheets.DeleteDeveloperMetadataResponse{}
	kept := make([]*entry, 0, len(d.metadata))
	for _, e := range d.metadata {
		if match(e) {
			res.DeletedDeveloperMetadata = append(res.DeletedDeveloperMetadata, e.render())
		} else {
			kept = append(kept, e)
		}
	}
	d.metadata = kept
	return &sheets.Response{DeleteDeveloperMetadata: res}, nil
}

// matcher compiles a data filter into a test of metadata entries. A range
// matches what intersects it.
func (b *book) matcher(f *sheets.DataFilter) (func(*entry) bool, error) {
	switch {
	case f.DeveloperMetadataLookup != nil:
		return b.lookup(f.DeveloperMetadataLookup)
	case f.GridRange != nil:
		a, err := b.area(f.GridRange)
		return func(e *entry) bool { return b.covers(e.place, a) }, err
	case f.A1Range != "":
		a, err := b.parseA1(f.A1Range)
		return func(e *entry) bool { return b.covers(e.place, a) }, err
	}
	return nil, invalid("A data filter must set exactly one of its fields.")
}

// covers reports whether the place and the area intersect.
func (b *book) covers(p place, a area) bool {
	return !p.book && p.area(b).meets(a)
}

func (p place) area(b *book) area {
	a := b.tab(p.sheet).all()
	switch p.dimension {
	case "ROWS":
		a.row, a.endRow = p.index, p.index+1
	case "COLUMNS":
		a.col, a.endCol = p.index, p.index+1
	}
	return a
}

func (p place) kind() string {
	switch {
	case p.book:
		return "SPREADSHEET"
	case p.dimension == "ROWS":
		return "ROW"
	case p.dimension == "COLUMNS":
		return "COLUMN"
	}
	return "SHEET"
}

func (b *book) lookup(l *sheets.DeveloperMetadataLookup) (func(*entry) bool, error) {
	located := func(place) bool { return true }
	if l.MetadataLocation != nil {
		var sheetID *int64
		if !l.MetadataLocation.Spreadsheet && l.MetadataLocation.DimensionRange == nil {
			sheetID = &l.MetadataLocation.SheetId
		}
		at, err := b.place(l.MetadataLocation, sheetID)
		if err != nil {
			return nil, err
		}
		located = b.locator(at, l.LocationMatchingStrategy == "EXACT_LOCATION")
	} else if l.LocationMatchingStrategy != "" {
		return nil, invalid("locationMatchingStrategy needs a metadataLocation.")
	}
	same := func(want, got string) bool { return want == "" || want == got }
	return func(e *entry) bool {
		return (l.MetadataId == 0 || l.MetadataId == e.id) && same(l.MetadataKey, e.key) && same(l.MetadataValue, e.value) &&
			same(l.Visibility, e.visibility) && same(l.LocationType, e.place.kind()) && located(e.place)
	}, nil
}

// locator matches places that are, or intersect, the given one.
func (b *book) locator(at place, exact bool) func(place) bool {
	return func(p place) bool {
		return p == at || !exact && !p.book && !at.book && p.area(b).meets(at.area(b))
	}
}

func (e *entry) render() *sheets.DeveloperMetadata {
	location := &sheets.DeveloperMetadataLocation{LocationType: e.place.kind(), Spreadsheet: e.place.book}
	switch {
	case e.place.dimension != "":
		location.DimensionRange = &sheets.DimensionRange{
			SheetId: e.place.sheet, Dimension: e.place.dimension, StartIndex: int64(e.place.index), EndIndex: int64(e.place.index) + 1,
			ForceSendFields: []string{"SheetId", "StartIndex"},
		}
	case !e.place.book:
		location.SheetId, location.ForceSendFields = e.place.sheet, []string{"SheetId"}
	}
	return &sheets.DeveloperMetadata{
		MetadataId: e.id, MetadataKey: e.key, MetadataValue: e.value, Visibility: e.visibility, Location: location,
	}
}

// renderAt renders the entries attached to exactly one place.
func (b *book) renderAt(p place) []*sheets.DeveloperMetadata {
	var found []*sheets.DeveloperMetadata
	for _, e := range b.metadata {
		if e.place == p {
			found = append(found, e.render())
		}
	}
	return found
}

func (b *book) metadataByID(id int64) (any, error) {
	for _, e := range b.metadata {
		if e.id == id {
			return e.render(), nil
		}
	}
	return nil, errNotFound
}

func (b *book) searchMetadata(req *sheets.SearchDeveloperMetadataRequest) (any, error) {
	if len(req.DataFilters) == 0 {
		return nil, firmly("Must specify at least one data filter.")
	}
	tests := make([]func(*entry) bool, len(req.DataFilters))
	for i, f := range req.DataFilters {
		test, err := b.matcher(f)
		if err != nil {
			return nil, err
		}
		tests[i] = test
	}
	res := &sheets.SearchDeveloperMetadataResponse{}
	for _, e := range b.metadata {
		m := &sheets.MatchedDeveloperMetadata{}
		for i, test := range tests {
			if test(e) {
				m.DataFilters = append(m.DataFilters, req.DataFilters[i])
			}
		}
		if m.DataFilters != nil {
			m.DeveloperMetadata = e.render()
			res.MatchedDeveloperMetadata = append(res.MatchedDeveloperMetadata, m)
		}
	}
	return res, nil
}
