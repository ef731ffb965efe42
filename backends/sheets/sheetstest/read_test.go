package sheetstest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

// table is a spreadsheet of two tabs for reads.
func table(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, sheetstest.Options{})
	r.must(t, addTab(7, "It's"),
		put(0, 0, 0, "a", 1, true), put(0, 2, 1, 0, false), put(0, 4, 0, sheetstest.Formula("=1+1")),
		put(7, 0, 0, "x", "y"), put(7, 1, 0, "z"))
	return r
}

func TestValues(t *testing.T) {
	t.Parallel()
	r := table(t)
	r.must(t, addTab(8, "AB"), put(8, 0, 0, "ab"), addTab(9, "C3"), put(9, 0, 0, "c3"))
	tests := []struct {
		ranges, render, dimension string
		wantRange, want           string
	}{
		{"Sheet1", "UNFORMATTED_VALUE", "", "Sheet1!A1:Z1000", `[["a",1,true],[],["",0,false],[],["#NAME?"]]`},
		{"Sheet1", "FORMULA", "", "Sheet1!A1:Z1000", `[["a",1,true],[],["",0,false],[],["=1+1"]]`},
		{"Sheet1", "", "", "Sheet1!A1:Z1000", `[["a","1","TRUE"],[],["","0","FALSE"],[],["#NAME?"]]`},
		{"Sheet1!A1:C3", "UNFORMATTED_VALUE", "COLUMNS", "Sheet1!A1:C3", `[["a"],[1,"",0],[true,"",false]]`},
		{"Sheet1!B3", "UNFORMATTED_VALUE", "", "Sheet1!B3", `[[0]]`},
		{"Sheet1!B:C", "UNFORMATTED_VALUE", "", "Sheet1!B1:C1000", `[[1,true],[],[0,false]]`},
		{"Sheet1!3:4", "UNFORMATTED_VALUE", "", "Sheet1!A3:Z4", `[["",0,false]]`},
		{"Sheet1!A3:B", "UNFORMATTED_VALUE", "", "Sheet1!A3:B1000", `[["",0],[],["#NAME?"]]`},
		{"Sheet1!B3:A1", "UNFORMATTED_VALUE", "", "Sheet1!A1:B3", `[["a",1],[],["",0]]`},
		{"Sheet1!A4:C4", "UNFORMATTED_VALUE", "", "Sheet1!A4:C4", `null`},
		{"Sheet1!A900:C5000", "UNFORMATTED_VALUE", "", "Sheet1!A900:C1000", `null`},
		{"A1:B1", "UNFORMATTED_VALUE", "", "Sheet1!A1:B1", `[["a",1]]`},
		{"AB", "FORMULA", "", "AB!A1:Z1000", `[["ab"]]`},
		{"C3", "FORMULA", "", "Sheet1!C3", `[[false]]`},
		{"'C3'!A1", "FORMULA", "", "'C3'!A1", `[["c3"]]`},
		{"'It''s'!A1:B2", "UNFORMATTED_VALUE", "", "'It''s'!A1:B2", `[["x","y"],["z"]]`},
		{"'It''s'", "UNFORMATTED_VALUE", "", "'It''s'!A1:Z1000", `[["x","y"],["z"]]`},
	}
	for _, test := range tests {
		t.Run(test.ranges+test.render+test.dimension, func(t *testing.T) {
			t.Parallel()
			one := r.client.Spreadsheets.Values.Get(r.id, test.ranges)
			if test.render != "" {
				one.ValueRenderOption(test.render)
			}
			if test.dimension != "" {
				one.MajorDimension(test.dimension)
			}
			got, err := one.Do()
			if err != nil {
				t.Fatal(err)
			}
			values, _ := json.Marshal(got.Values)
			if string(values) != test.want || got.Range != test.wantRange {
				t.Errorf("got  %s %s\nwant %s %s", got.Range, values, test.wantRange, test.want)
			}
		})
	}
}

func TestValuesBatchGet(t *testing.T) {
	t.Parallel()
	r := table(t)
	res, err := r.client.Spreadsheets.Values.BatchGet(r.id).Ranges("Sheet1!A1", "'It''s'!A2").ValueRenderOption("UNFORMATTED_VALUE").Do()
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, v := range res.ValueRanges {
		got += fmt.Sprint(v.Range, v.Values)
	}
	if want := "Sheet1!A1[[a]]'It''s'!A2[[z]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRangesThatDoNotParse(t *testing.T) {
	t.Parallel()
	r := table(t)
	tests := []struct{ ranges, text string }{
		{"Nowhere!A1", "Unable to parse range: Nowhere!A1"},
		{"Nowhere", "Unable to parse range"},
		{"sheet1!A1", "Unable to parse range"},
		{"Sheet1!", "Unable to parse range"},
		{"Sheet1!A", "Unable to parse range"},
		{"Sheet1!A1:", "Unable to parse range"},
		{"Sheet1!1A", "Unable to parse range"},
		{"'Sheet1", "Unable to parse range"},
		{"'Sheet1'x", "Unable to parse range"},
		{"''!A1", "Unable to parse range"},
		{"", "Unable to parse range"},
		{"!A1", "Unable to parse range"},
		{"Sheet1!A1001", "exceeds grid limits. Max rows: 1000, max columns: 26"},
		{"Sheet1!AA1:AB2", "exceeds grid limits"},
	}
	for _, test := range tests {
		t.Run(test.ranges, func(t *testing.T) {
			t.Parallel()
			_, err := r.client.Spreadsheets.Values.Get(r.id, test.ranges).Do()
			refused(t, err, 400, test.text)
		})
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	r := table(t)
	r.must(t, mark(7, 5, "v"))
	tests := []struct{ name, query, want string }{
		{"titles", "fields=sheets.properties(sheetId,title)",
			`{"sheets":[{"properties":{"sheetId":0,"title":"Sheet1"}},{"properties":{"sheetId":7,"title":"It's"}}]}`},
		{"id and name", "fields=spreadsheetId,properties/title",
			`{"properties":{"title":"Book"},"spreadsheetId":"spreadsheet-1"}`},
		{"cells of a range", "ranges=Sheet1!B2:C9&fields=sheets(data(startRow,startColumn,rowData.values.userEnteredValue))",
			`{"sheets":[{"data":[{"rowData":[{},{"values":[{"userEnteredValue":{"numberValue":0}},{"userEnteredValue":{"boolValue":false}}]}],"startColumn":1,"startRow":1}]}]}`},
		{"two ranges of a tab", "ranges='It''s'!B1&ranges='It''s'!A2&fields=sheets.data.rowData.values.formattedValue",
			`{"sheets":[{"data":[{"rowData":[{"values":[{"formattedValue":"y"}]}]},{"rowData":[{"values":[{"formattedValue":"z"}]}]}]}]}`},
		{"an empty range", "ranges=Sheet1!H1:H5&fields=sheets.data.rowData", `{"sheets":[{"data":[{}]}]}`},
		{"a mask without data overrides the flag", "includeGridData=true&fields=sheets.properties.title",
			`{"sheets":[{"properties":{"title":"Sheet1"}},{"properties":{"title":"It's"}}]}`},
		{"one wish inside another", "fields=sheets.properties,sheets.properties.title&ranges=Sheet1!A1",
			`{"sheets":[{"properties":{"gridProperties":{"columnCount":26,"rowCount":1000},"index":0,"sheetId":0,"sheetType":"GRID","title":"Sheet1"}}]}`},
		{"no flag, no data", "ranges='It''s'!A1",
			`{"properties":{"autoRecalc":"ON_CHANGE","locale":"en_US","timeZone":"Etc/GMT","title":"Book"},` +
				`"sheets":[{"developerMetadata":[{"location":{"locationType":"SHEET","sheetId":7},"metadataId":5,"metadataKey":"k","metadataValue":"v","visibility":"DOCUMENT"}],` +
				`"properties":{"gridProperties":{"columnCount":26,"rowCount":1000},"index":1,"sheetId":7,"sheetType":"GRID","title":"It's"}}],` +
				`"spreadsheetId":"spreadsheet-1","spreadsheetUrl":"https://docs.google.com/spreadsheets/d/spreadsheet-1/edit"}`},
		{"everything of a cell", "ranges=Sheet1!A5&includeGridData=true&fields=sheets/data/*",
			`{"sheets":[{"data":[{"columnMetadata":[{"pixelSize":100}],"rowData":[{"values":[{"effectiveValue":{"errorValue":{"message":"Formulas are not computed.","type":"NAME"}},` +
				`"formattedValue":"#NAME?","userEnteredValue":{"formulaValue":"=1+1"}}]}],"rowMetadata":[{"pixelSize":21}],"startRow":4}]}]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := wire(t, r, test.query); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// wire is the answer to spreadsheets.get as it is sent, its names sorted. The
// client would drop the zeros when it encodes an answer again.
func wire(t fatal, r *rig, query string) string {
	t.Helper()
	res, err := r.Client().Get("https://sheets.test/v4/spreadsheets/" + r.id + "?" + query)
	if err != nil {
		t.Fatalf("wire: %v", err)
	}
	defer res.Body.Close()
	var tree any
	if err := json.NewDecoder(res.Body).Decode(&tree); err != nil {
		t.Fatalf("wire: %v", err)
	}
	sorted, err := json.Marshal(tree)
	if err != nil {
		t.Fatalf("wire: %v", err)
	}
	return string(sorted)
}

// TestMaskedReadsChangeNothing: what a mask takes from an answer stays in the
// spreadsheet.
func TestMaskedReadsChangeNothing(t *testing.T) {
	t.Parallel()
	r := table(t)
	r.must(t, protect(sheets.GridRange{SheetId: 7}, 3), mark(7, 5, "v"))
	before := wire(t, r, "includeGridData=true")
	for _, fields := range []string{"sheets.protectedRanges.protectedRangeId", "sheets.developerMetadata.metadataId", "sheets.data.startRow", "sheets.properties.title"} {
		wire(t, r, "fields="+fields)
	}
	if after := wire(t, r, "includeGridData=true"); after != before {
		t.Errorf("got  %s\nwant %s", after, before)
	}
}

func TestFieldsThatDoNotExist(t *testing.T) {
	t.Parallel()
	r := table(t)
	for _, fields := range []string{"sheet", "sheets.property", "sheets(properties", "sheets)", "sheets,,properties", "sheets.properties.title.x", "sheets..data", "sheets()"} {
		t.Run(fields, func(t *testing.T) {
			t.Parallel()
			_, err := r.client.Spreadsheets.Get(r.id).Fields(googleapi.Field(fields)).Do()
			refused(t, err, 400, "Invalid value for the fields parameter")
		})
	}
}

func TestGetByDataFilter(t *testing.T) {
	t.Parallel()
	r := table(t)
	r.must(t, mark(7, 5, "v"))
	tests := []struct {
		name   string
		filter *sheets.DataFilter
		want   string
	}{
		{"a1", &sheets.DataFilter{A1Range: "Sheet1!A1:B1"}, "Sheet1: a 1"},
		{"grid range", &sheets.DataFilter{GridRange: &sheets.GridRange{SheetId: 7, EndRowIndex: 1}}, "It's: x y"},
		{"metadata", &sheets.DataFilter{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{MetadataKey: "k"}}, "It's: x y z"},
		{"no match", &sheets.DataFilter{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{MetadataKey: "other"}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			book, err := r.client.Spreadsheets.GetByDataFilter(r.id, &sheets.GetSpreadsheetByDataFilterRequest{
				DataFilters: []*sheets.DataFilter{test.filter}, IncludeGridData: true,
			}).Do()
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(book); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// texts is the tabs with their formatted cells.
func texts(book *sheets.Spreadsheet) string {
	var b strings.Builder
	for _, s := range book.Sheets {
		b.WriteString(s.Properties.Title + ":")
		for _, d := range s.Data {
			for _, r := range d.RowData {
				for _, c := range r.Values {
					b.WriteString(" " + c.FormattedValue)
				}
			}
		}
	}
	return b.String()
}

// TestResponseShowsTheBatch reads the rows that a batch wrote from its own
// answer.
func TestResponseShowsTheBatch(t *testing.T) {
	t.Parallel()
	r := table(t)
	call := r.client.Spreadsheets.BatchUpdate(r.id, &sheets.BatchUpdateSpreadsheetRequest{
		Requests:                     []*sheets.Request{put(0, 0, 0, "new"), addTab(8, "New"), put(8, 0, 0, "there")},
		IncludeSpreadsheetInResponse: true,
		ResponseIncludeGridData:      true,
		ResponseRanges:               []string{"Sheet1!A1:B1", "New!A1"},
	})
	res, err := call.Do()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := texts(res.UpdatedSpreadsheet), "Sheet1: new 1New: there"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestResponseMask(t *testing.T) {
	t.Parallel()
	r := table(t)
	call := r.client.Spreadsheets.BatchUpdate(r.id, &sheets.BatchUpdateSpreadsheetRequest{
		Requests:                     []*sheets.Request{put(0, 0, 0, "new")},
		IncludeSpreadsheetInResponse: true,
		ResponseRanges:               []string{"Sheet1!A1"},
	}).Fields("updatedSpreadsheet.sheets(properties.title,data.rowData.values.formattedValue)")
	res, err := call.Do()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := texts(res.UpdatedSpreadsheet), "Sheet1: new"; got != want || res.Replies != nil || res.SpreadsheetId != "" {
		t.Errorf("got %q with replies %v of %q, want only %q", got, res.Replies, res.SpreadsheetId, want)
	}
}

// TestResponseRangeThatDoesNotParse: the batch is refused as a whole.
func TestResponseRangeThatDoesNotParse(t *testing.T) {
	t.Parallel()
	r := table(t)
	_, err := r.client.Spreadsheets.BatchUpdate(r.id, &sheets.BatchUpdateSpreadsheetRequest{
		Requests:                     []*sheets.Request{put(0, 0, 0, "new")},
		IncludeSpreadsheetInResponse: true, ResponseRanges: []string{"Nowhere!A1"},
	}).Do()
	refused(t, err, 400, "Unable to parse range")
	if got := r.Rows(r.id, "Sheet1")[0][0]; got != "a" {
		t.Errorf("got %v, want a: nothing applied", got)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	book, err := r.client.Spreadsheets.Create(&sheets.Spreadsheet{
		Properties: &sheets.SpreadsheetProperties{Title: "Made"},
		Sheets: []*sheets.Sheet{
			{Properties: &sheets.SheetProperties{Title: "A", SheetId: 3, GridProperties: &sheets.GridProperties{RowCount: 2, ColumnCount: 2}}},
			{Properties: &sheets.SheetProperties{Title: "B", Hidden: true}},
		},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if book.Properties.Title != "Made" || book.SpreadsheetId == r.id || len(book.Sheets) != 2 || !book.Sheets[1].Properties.Hidden {
		t.Errorf("got %+v, want a book of two tabs, the second hidden", book)
	}
	if got := len(r.Tabs(book.SpreadsheetId)); got != 2 {
		t.Errorf("got %d tabs, want 2", got)
	}
	plain, err := r.client.Spreadsheets.Create(&sheets.Spreadsheet{}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if plain.Sheets[0].Properties.Title != "Sheet1" || plain.SpreadsheetId == book.SpreadsheetId {
		t.Errorf("got %+v, want a new book with Sheet1", plain)
	}
	_, err = r.client.Spreadsheets.Create(&sheets.Spreadsheet{Sheets: []*sheets.Sheet{
		{Properties: &sheets.SheetProperties{Title: "A"}}, {Properties: &sheets.SheetProperties{Title: "a"}},
	}}).Do()
	refused(t, err, 400, "already exists")
}

func TestNoSuchSpreadsheet(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.id = "nowhere"
	_, err := r.batch(t.Context(), put(0, 0, 0, "x"))
	refused(t, err, 404, "not found")
	_, err = r.client.Spreadsheets.Get(r.id).Do()
	refused(t, err, 404, "not found")
}

// TestZeroValuesOnTheWire sends 0, false and "" as the client encodes them.
func TestZeroValuesOnTheWire(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{Profile: sheetstest.P2})
	r.must(t, put(0, 0, 0, "x", "x", "x", "x"))
	r.must(t, put(0, 0, 0, 0, false, "", nil))
	if got, want := fmt.Sprintf("%#v", r.Rows(r.id, "Sheet1")), `[][]interface {}{[]interface {}{0, false, ""}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
