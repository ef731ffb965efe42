package sheetstest_test

import (
	"fmt"
	"testing"

	"google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/zzmut"
)

// onBook creates metadata on the spreadsheet itself.
func onBook(id int64, value string) *sheets.Request {
	req := mark(0, id, value)
	req.CreateDeveloperMetadata.DeveloperMetadata.Location = &sheets.DeveloperMetadataLocation{Spreadsheet: true}
	return req
}

func TestMetadataByID(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.must(t, mark(0, 5, "v"))
	m, err := r.client.Spreadsheets.DeveloperMetadata.Get(r.id, 5).Do()
	if err != nil {
		t.Fatal(err)
	}
	if m.MetadataId != 5 || m.MetadataKey != "k" || m.MetadataValue != "v" || m.Location.LocationType != "SHEET" {
		t.Errorf("got %+v, want entry 5 on a sheet", m)
	}
	_, err = r.client.Spreadsheets.DeveloperMetadata.Get(r.id, 6).Do()
	refused(t, err, 404, "not found")
}

func TestMetadataSearch(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.must(t, addTab(7, "T"), mark(0, 1, "a"), mark(7, 2, "b"), mark(7, 3, "a"), onBook(4, "a"))
	lookup := func(l sheets.DeveloperMetadataLookup) *sheets.DataFilter {
		return &sheets.DataFilter{DeveloperMetadataLookup: &l}
	}
	tests := []struct {
		name    string
		filters []*sheets.DataFilter
		want    string
	}{
		{"all", []*sheets.DataFilter{lookup(sheets.DeveloperMetadataLookup{})}, "[1 2 3 4]"},
		{"by id", []*sheets.DataFilter{lookup(sheets.DeveloperMetadataLookup{MetadataId: 2})}, "[2]"},
		{"by value", []*sheets.DataFilter{lookup(sheets.DeveloperMetadataLookup{MetadataValue: "a"})}, "[1 3 4]"},
		{"by key and value", []*sheets.DataFilter{lookup(sheets.DeveloperMetadataLookup{MetadataKey: "other", MetadataValue: "a"})}, "[]"},
		{"by visibility", []*sheets.DataFilter{lookup(sheets.DeveloperMetadataLookup{Visibility: "PROJECT"})}, "[]"},
		{"on sheets", []*sheets.DataFilter{lookup(sheets.DeveloperMetadataLookup{LocationType: "SHEET"})}, "[1 2 3]"},
		{"on one sheet", []*sheets.DataFilter{lookup(sheets.DeveloperMetadataLookup{MetadataLocation: &sheets.DeveloperMetadataLocation{SheetId: 7}})}, "[2 3]"},
		{"on the book", []*sheets.DataFilter{lookup(sheets.DeveloperMetadataLookup{MetadataLocation: &sheets.DeveloperMetadataLocation{Spreadsheet: true}})}, "[4]"},
		{"in a range", []*sheets.DataFilter{{A1Range: "T!A1"}}, "[2 3]"},
		{"either of two", []*sheets.DataFilter{{GridRange: &sheets.GridRange{}}, lookup(sheets.DeveloperMetadataLookup{MetadataValue: "b"})}, "[1 2]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			res, err := r.client.Spreadsheets.DeveloperMetadata.Search(r.id, &sheets.SearchDeveloperMetadataRequest{DataFilters: test.filters}).Do()
			if err != nil {
				t.Fatal(err)
			}
			ids := []int64{}
			for _, m := range res.MatchedDeveloperMetadata {
				ids = append(ids, m.DeveloperMetadata.MetadataId)
			}
			if got := fmt.Sprint(ids); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	_, err := r.client.Spreadsheets.DeveloperMetadata.Search(r.id, &sheets.SearchDeveloperMetadataRequest{}).Do()
	refused(t, err, 400, "at least one data filter")
}

// TestMetadataEnds: entries go when they are deleted, or with their sheet, and
// their ids are free then.
func TestMetadataEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.must(t, addTab(7, "T"), mark(7, 1, "a"), mark(0, 2, "b"), mark(0, 3, "b"))
	r.must(t, deleteTab(7), mark(0, 1, "again"))
	replies := r.must(t, deleteMetadata(&sheets.DataFilter{
		DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{MetadataValue: "b"},
	}), mark(0, 2, "again"))
	if n := len(replies[0].DeleteDeveloperMetadata.DeletedDeveloperMetadata); n != 2 {
		t.Errorf("got %d deleted entries, want 2", n)
	}
	got := ""
	for _, m := range r.Metadata(r.id) {
		got += fmt.Sprint(m.MetadataId, m.MetadataValue, " ")
	}
	if want := "1again 2again "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMetadataLimitIsPerPlace: every sheet and the book have their own 30,000
// characters.
func TestMetadataLimitIsPerPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	full := fmt.Sprintf("%029999d", 0)
	r.must(t, addTab(7, "T"), mark(0, 1, full), mark(7, 2, full), onBook(3, full))
	_, err := r.batch(t.Context(), mark(0, 4, ""))
	refused(t, err, 400, "may hold 30000 characters, got 30001")
}
