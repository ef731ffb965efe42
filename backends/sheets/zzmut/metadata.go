package sheetstest

import (
	"slices"

	"google.golang.org/api/sheets/v4"
)

// entry is one developer metadata entry. Entries never change.
type entry struct {
	id                     int64
	key, value, visibility string
	place                  place
}

// place is where metadata is attached: the book, or a sheet of it.
type place struct {
	book  bool
	sheet int64
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

// metadataID refuses an id in use, and draws one when none is asked for.
func (d *draft) metadataID(asked int64) (int64, error) {
	inUse := func(id int64) bool {
		return slices.ContainsFunc(d.metadata, func(e *entry) bool { return e.id == id })
	}
	if asked != 0 && inUse(asked) && !d.traits.acceptDuplicateIDs {
		return 0, firmly("%s", d.traits.duplicateID)
	}
	if asked == 0 {
		return d.unused(inUse), nil
	}
	return asked, nil
}

// metadataLength sums what counts towards the limit of one place.
func (d *draft) metadataLength(p place) int {
	n := 0
	for _, e := range d.metadata {
		if e.place == p {
			n += d.traits.length(e.key) + d.traits.length(e.value)
		}
	}
	return n
}

// place resolves a location; sheetID is nil when absent.
func (b *book) place(l *sheets.DeveloperMetadataLocation, sheetID *int64) (place, error) {
	switch {
	case l.DimensionRange != nil:
		return place{}, unmodelled("developer metadata on a row or column")
	case l.Spreadsheet == (sheetID != nil):
		return place{}, invalid("Developer metadata must be located on one spreadsheet or sheet.")
	case l.Spreadsheet:
		return place{book: true}, nil
	case b.tab(*sheetID) == nil:
		return place{}, invalid("No sheet with id: %d", *sheetID)
	}
	return place{sheet: *sheetID}, nil
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
	d.dropMetadata(func(e *entry) bool {
		if match(e) {
			res.DeletedDeveloperMetadata = append(res.DeletedDeveloperMetadata, e.render())
		}
		return match(e)
	})
	return &sheets.Response{DeleteDeveloperMetadata: res}, nil
}

func (d *draft) dropMetadata(drop func(*entry) bool) {
	d.metadata = slices.DeleteFunc(slices.Clone(d.metadata), drop)
}

// matcher compiles a data filter into a test of metadata entries. A range
// matches the metadata of its sheet.
func (b *book) matcher(f *sheets.DataFilter) (func(*entry) bool, error) {
	if f.DeveloperMetadataLookup != nil {
		return b.lookup(f.DeveloperMetadataLookup)
	}
	a, err := b.filterArea(f)
	if err != nil {
		return nil, err
	}
	return func(e *entry) bool { return e.place == place{sheet: a.tab.id} }, nil
}

// filterArea resolves a data filter that is a range.
func (b *book) filterArea(f *sheets.DataFilter) (area, error) {
	switch {
	case f.GridRange != nil:
		return b.area(f.GridRange)
	case f.A1Range != "":
		return b.parseA1(f.A1Range)
	}
	return area{}, invalid("A data filter must set exactly one of its fields.")
}

// lookup compiles a metadata lookup. Sheets do not intersect each other or the
// spreadsheet, so both matching strategies come to the same.
func (b *book) lookup(l *sheets.DeveloperMetadataLookup) (func(*entry) bool, error) {
	var at *place
	if l.MetadataLocation != nil {
		var sheetID *int64
		if !l.MetadataLocation.Spreadsheet {
			sheetID = &l.MetadataLocation.SheetId
		}
		p, err := b.place(l.MetadataLocation, sheetID)
		if err != nil {
			return nil, err
		}
		at = &p
	} else if l.LocationMatchingStrategy != "" {
		return nil, invalid("locationMatchingStrategy needs a metadataLocation.")
	}
	same := func(want, got string) bool { return want == "" || want == got }
	return func(e *entry) bool {
		return (l.MetadataId == 0 || l.MetadataId == e.id) && (at == nil || *at == e.place) &&
			same(l.MetadataKey, e.key) && same(l.MetadataValue, e.value) &&
			same(l.Visibility, e.visibility) && same(l.LocationType, e.place.kind())
	}, nil
}

func (p place) kind() string {
	if p.book {
		return "SPREADSHEET"
	}
	return "SHEET"
}

func (e *entry) render() *sheets.DeveloperMetadata {
	location := &sheets.DeveloperMetadataLocation{LocationType: e.place.kind(), Spreadsheet: e.place.book}
	if !e.place.book {
		location.SheetId, location.ForceSendFields = e.place.sheet, []string{"SheetId"}
	}
	return &sheets.DeveloperMetadata{
		MetadataId: e.id, MetadataKey: e.key, MetadataValue: e.value, Visibility: e.visibility, Location: location,
	}
}

// renderAt renders the entries attached to one place.
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
	found := map[*entry]*sheets.MatchedDeveloperMetadata{}
	for _, f := range req.DataFilters {
		match, err := b.matcher(f)
		if err != nil {
			return nil, err
		}
		for _, e := range b.metadata {
			if !match(e) {
				continue
			}
			if found[e] == nil {
				found[e] = &sheets.MatchedDeveloperMetadata{DeveloperMetadata: e.render()}
			}
			found[e].DataFilters = append(found[e].DataFilters, f)
		}
	}
	res := &sheets.SearchDeveloperMetadataResponse{}
	for _, e := range b.metadata {
		if m := found[e]; m != nil {
			res.MatchedDeveloperMetadata = append(res.MatchedDeveloperMetadata, m)
		}
	}
	return res, nil
}
