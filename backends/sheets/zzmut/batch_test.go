package sheetstest_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/zzmut"
)

func updateRange(r *sheets.GridRange, fields string, rows ...*sheets.RowData) *sheets.Request {
	return &sheets.Request{UpdateCells: &sheets.UpdateCellsRequest{Range: r, Fields: fields, Rows: rows}}
}

func row(values ...any) *sheets.RowData {
	return put(0, 0, 0, values...).UpdateCells.Rows[0]
}

func appendDim(dimension string, n int64) *sheets.Request {
	return &sheets.Request{AppendDimension: &sheets.AppendDimensionRequest{Dimension: dimension, Length: n}}
}

func insertDim(dimension string, from, to int64) *sheets.Request {
	return &sheets.Request{InsertDimension: &sheets.InsertDimensionRequest{
		Range: &sheets.DimensionRange{Dimension: dimension, StartIndex: from, EndIndex: to},
	}}
}

func deleteDim(dimension string, from, to int64) *sheets.Request {
	return &sheets.Request{DeleteDimension: &sheets.DeleteDimensionRequest{
		Range: &sheets.DimensionRange{Dimension: dimension, StartIndex: from, EndIndex: to},
	}}
}

func appendRows(rows ...*sheets.RowData) *sheets.Request {
	return &sheets.Request{AppendCells: &sheets.AppendCellsRequest{Fields: "userEnteredValue", Rows: rows}}
}

func setProperties(fields string, p sheets.SheetProperties) *sheets.Request {
	return &sheets.Request{UpdateSheetProperties: &sheets.UpdateSheetPropertiesRequest{Fields: fields, Properties: &p}}
}

func protect(r sheets.GridRange, id int64) *sheets.Request {
	return &sheets.Request{AddProtectedRange: &sheets.AddProtectedRangeRequest{
		ProtectedRange: &sheets.ProtectedRange{Range: &r, ProtectedRangeId: id},
	}}
}

func unprotect(id int64) *sheets.Request {
	return &sheets.Request{DeleteProtectedRange: &sheets.DeleteProtectedRangeRequest{ProtectedRangeId: id}}
}

// TestRequestsOnCells starts every case from the rows [a b c] [d e f] [g h i]
// and shows the rows it leaves.
func TestRequestsOnCells(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		request *sheets.Request
		want    string
	}{
		{"cells from a start", put(0, 1, 1, "X", 7), "[[a b c] [d X 7] [g h i]]"},
		{"a cell without a value is blanked", put(0, 1, 1, nil), "[[a b c] [d <nil> f] [g h i]]"},
		{"zero and false are values", put(0, 1, 0, 0, false), "[[a b c] [0 false f] [g h i]]"},
		{"text stays text", put(0, 0, 0, "=1+1", "007", "1-2"), "[[=1+1 007 1-2] [d e f] [g h i]]"},
		{"a formula is a formula", put(0, 2, 2, sheetstest.Formula("=A1")), "[[a b c] [d e f] [g h =A1]]"},
		{"rows may differ in length", updateAt(1, 0, row("X"), row(), row("Y", "Z", "W")), "[[a b c] [X e f] [g h i] [Y Z W]]"},
		{"a range is filled", updateRange(&sheets.GridRange{StartRowIndex: 1, EndRowIndex: 3, EndColumnIndex: 2}, "userEnteredValue", row("X")),
			"[[a b c] [X <nil> f] [<nil> <nil> i]]"},
		{"an open range is cleared", updateRange(&sheets.GridRange{StartRowIndex: 1}, "*"), "[[a b c]]"},
		{"a mask without values writes none", updateRange(&sheets.GridRange{EndRowIndex: 2}, "note"), "[[a b c] [d e f] [g h i]]"},
		{"append goes below the last value", appendRows(row("X"), row("Y")), "[[a b c] [d e f] [g h i] [X] [Y]]"},
		{"rows inserted", insertDim("ROWS", 1, 2), "[[a b c] [] [d e f] [g h i]]"},
		{"columns inserted", insertDim("COLUMNS", 1, 2), "[[a <nil> b c] [d <nil> e f] [g <nil> h i]]"},
		{"rows deleted", deleteDim("ROWS", 0, 2), "[[g h i]]"},
		{"columns deleted", deleteDim("COLUMNS", 1, 2), "[[a c] [d f] [g i]]"},
		{"an end of zero is open", deleteDim("ROWS", 1, 0), "[[a b c]]"},
		{"a smaller grid drops cells", setProperties("gridProperties", sheets.SheetProperties{
			GridProperties: &sheets.GridProperties{RowCount: 2, ColumnCount: 2},
		}), "[[a b] [d e]]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, sheetstest.Options{})
			r.must(t, updateAt(0, 0, row("a", "b", "c"), row("d", "e", "f"), row("g", "h", "i")))
			r.must(t, test.request)
			if got := show(r.Rows(r.id, "Sheet1")); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func updateAt(row, col int64, rows ...*sheets.RowData) *sheets.Request {
	return &sheets.Request{UpdateCells: &sheets.UpdateCellsRequest{
		Start: &sheets.GridCoordinate{RowIndex: row, ColumnIndex: col}, Fields: "userEnteredValue", Rows: rows,
	}}
}

// TestRequestsOnTabs shows the tabs as title#id, with their grids.
func TestRequestsOnTabs(t *testing.T) {
	t.Parallel()
	grid := func(rows, cols int64) *sheets.GridProperties {
		return &sheets.GridProperties{RowCount: rows, ColumnCount: cols}
	}
	tests := []struct {
		name     string
		requests []*sheets.Request
		want     string
	}{
		{"add with an id", []*sheets.Request{addTab(7, "T")}, "Sheet1#0 1000x26, T#7 1000x26"},
		{"swap an id within a batch", []*sheets.Request{addTab(7, "T"), deleteTab(7), addTab(7, "U")}, "Sheet1#0 1000x26, U#7 1000x26"},
		{"delete id 0, add it again", []*sheets.Request{addTab(7, "T"), deleteTab(0), {AddSheet: &sheets.AddSheetRequest{
			Properties: &sheets.SheetProperties{Title: "N", GridProperties: grid(2, 3), ForceSendFields: []string{"SheetId"}},
		}}}, "T#7 1000x26, N#0 2x3"},
		{"rename, other case", []*sheets.Request{setProperties("title", sheets.SheetProperties{Title: "SHEET1"})}, "SHEET1#0 1000x26"},
		{"hide", []*sheets.Request{addTab(7, "T"), setProperties("hidden", sheets.SheetProperties{Hidden: true})}, "Sheet1#0 1000x26 hidden, T#7 1000x26"},
		{"only masked fields change", []*sheets.Request{setProperties("gridProperties.rowCount", sheets.SheetProperties{Title: "X", GridProperties: grid(5, 9)})},
			"Sheet1#0 5x26"},
		{"add without a title", []*sheets.Request{addTab(7, "Sheet3"), addTab(8, "")}, "Sheet1#0 1000x26, Sheet3#7 1000x26, Sheet4#8 1000x26"},
		{"rows appended", []*sheets.Request{appendDim("ROWS", 10)}, "Sheet1#0 1010x26"},
		{"columns appended", []*sheets.Request{appendDim("COLUMNS", 4)}, "Sheet1#0 1000x30"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, sheetstest.Options{})
			r.must(t, test.requests...)
			if got := tabs(r); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func tabs(r *rig) string {
	var list []string
	for _, p := range r.Tabs(r.id) {
		text := fmt.Sprintf("%s#%d %dx%d", p.Title, p.SheetId, p.GridProperties.RowCount, p.GridProperties.ColumnCount)
		if p.Hidden {
			text += " hidden"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// TestRefusals pins what each request kind refuses, and that a refused batch
// leaves nothing behind.
func TestRefusals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 50_001)
	tests := []struct {
		name    string
		request *sheets.Request
		text    string
	}{
		{"cell text too long", put(0, 0, 0, long), "updateCells: Your input contains more than the maximum of 50000 characters"},
		{"row beyond the grid", put(0, 1000, 0, "x"), "updateCells: Attempting to write row 1000"},
		{"column beyond the grid", put(0, 0, 26, "x"), "beyond the grid of 1000 rows and 26 columns"},
		{"no such tab", put(9, 0, 0, "x"), "updateCells: No grid with id: 9"},
		{"no mask", updateRange(&sheets.GridRange{}, ""), "At least one field must be listed"},
		{"start and range", &sheets.Request{UpdateCells: &sheets.UpdateCellsRequest{Fields: "*"}}, "Exactly one of start and range"},
		{"range beyond the grid", updateRange(&sheets.GridRange{EndRowIndex: 1001}, "*"), "beyond the grid"},
		{"rows beyond the range", updateRange(&sheets.GridRange{EndRowIndex: 1}, "*", row("x"), row("y")), "beyond the requested range"},
		{"a null cell", &sheets.Request{UpdateCells: &sheets.UpdateCellsRequest{
			Start: &sheets.GridCoordinate{}, Fields: "*", Rows: []*sheets.RowData{{Values: []*sheets.CellData{nil}}},
		}}, "null"},
		{"a null row", appendRows(row("x"), nil), "null"},
		{"two values in a cell", put(0, 0, 0, twoValues()), "oneof field 'value' is already set"},
		{"a formula without =", put(0, 0, 0, sheetstest.Formula("A1")), "must start with '='"},
		{"title in use, other case", addTab(7, "sheet1"), `addSheet: A sheet with the name "sheet1" already exists`},
		{"title too long", addTab(7, strings.Repeat("x", 101)), "the maximum is 100"},
		{"sheet id in use", addTab(1, "T"), "A sheet with id 1 already exists"},
		{"sheet id negative", addTab(-1, "T"), "Invalid sheetId"},
		{"rename to a title in use", setProperties("title", sheets.SheetProperties{Title: "OTHER"}), "already exists"},
		{"rename to nothing", setProperties("title", sheets.SheetProperties{}), "cannot be empty"},
		{"grid of no rows", setProperties("gridProperties.rowCount", sheets.SheetProperties{}), "at least one row"},
		{"delete no tab", deleteTab(9), "No grid with id: 9"},
		{"append no rows", appendDim("ROWS", 0), "length must be greater than 0"},
		{"append to no dimension", appendDim("", 1), "Invalid dimension"},
		{"insert open", insertDim("ROWS", 1, 0), "must be bounded"},
		{"insert nothing", insertDim("ROWS", 2, 2), "is empty"},
		{"insert beyond the grid", insertDim("ROWS", 1001, 1002), "beyond the grid"},
		{"delete all rows", deleteDim("ROWS", 0, 1000), "can't delete all"},
		{"delete rows that are not there", deleteDim("ROWS", 999, 1001), "doesn't exist"},
		{"too many cells", appendDim("ROWS", 1000), "above the limit of 80000 cells"},
		{"metadata id in use", mark(1, 5, "b"), "createDeveloperMetadata: Developer metadata with this id already exists"},
		{"metadata without a place", mark(9, 6, "b"), "No sheet with id: 9"},
		{"metadata id negative", mark(1, -1, "b"), "must be positive"},
		{"metadata too long", mark(1, 6, strings.Repeat("x", 30_000)), "may hold 30000 characters"},
		{"metadata without a key", &sheets.Request{CreateDeveloperMetadata: &sheets.CreateDeveloperMetadataRequest{
			DeveloperMetadata: &sheets.DeveloperMetadata{Visibility: "DOCUMENT"},
		}}, "must have a key"},
		{"metadata without a visibility", withMetadata(func(m *sheets.DeveloperMetadata) { m.Visibility = "" }), "must have a visibility"},
		{"metadata without a location", withMetadata(func(m *sheets.DeveloperMetadata) { m.Location = nil }), "must have a location"},
		{"metadata in two places", withMetadata(func(m *sheets.DeveloperMetadata) { m.Location.Spreadsheet = true }), "one spreadsheet or sheet"},
		{"delete metadata without a filter", deleteMetadata(nil), "dataFilter must be specified"},
		{"an empty filter", deleteMetadata(&sheets.DataFilter{}), "exactly one of its fields"},
		{"a strategy without a location", deleteMetadata(&sheets.DataFilter{
			DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{LocationMatchingStrategy: "EXACT_LOCATION"},
		}), "needs a metadataLocation"},
		{"no properties", setProperties("", sheets.SheetProperties{}), "At least one field"},
		{"delete no range", &sheets.Request{DeleteDimension: &sheets.DeleteDimensionRequest{}}, "range must be specified"},
		{"too many columns", appendDim("COLUMNS", 20_000), "between 1 and 18278 columns"},
		{"a read-only value", put(0, 0, 0, &sheets.ExtendedValue{ErrorValue: &sheets.ErrorValue{Type: "NAME"}}), "read-only"},
		{"protect nothing", &sheets.Request{AddProtectedRange: &sheets.AddProtectedRangeRequest{}}, "range must be specified"},
		{"protected range id in use", protect(sheets.GridRange{}, 3), "already exists"},
		{"protect a tab that is not there", protect(sheets.GridRange{SheetId: 9}, 4), "No grid with id: 9"},
		{"add beside the cell limit", addTab(9, "T"), "above the limit of 80000 cells"},
		{"append beyond the cell limit", appendRows(row(make([]any, 40)...)), "above the limit of 80000 cells"},
		{"unprotect nothing", unprotect(4), "No protected range with id: 4"},
		{"no request", &sheets.Request{}, "exactly one kind of request"},
		{"two requests in one", &sheets.Request{AddSheet: &sheets.AddSheetRequest{}, DeleteSheet: &sheets.DeleteSheetRequest{}}, "exactly one kind of request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, sheetstest.Options{MaxCells: 80_000})
			r.must(t, addTab(1, "Other"), put(0, 0, 0, "kept"), mark(1, 5, "a"), protect(sheets.GridRange{}, 3))
			_, err := r.batch(t.Context(), put(0, 0, 0, "lost"), mark(0, 77, "lost"), addTab(8, "Lost"), test.request)
			refused(t, err, 400, test.text)
			if !strings.HasPrefix(err.Error(), "googleapi: Error 400: Invalid requests[3]") {
				t.Errorf("got %v, want the place of the request", err)
			}
			if got := show(r.Rows(r.id, "Sheet1")) + tabs(r); got != "[[kept]]Sheet1#0 1000x26, Other#1 1000x26" {
				t.Errorf("a refused batch left %s", got)
			}
			if n := len(r.Metadata(r.id)); n != 1 {
				t.Errorf("a refused batch left %d metadata entries, want 1", n)
			}
		})
	}
}

func withMetadata(change func(*sheets.DeveloperMetadata)) *sheets.Request {
	req := mark(1, 6, "b")
	change(req.CreateDeveloperMetadata.DeveloperMetadata)
	return req
}

func deleteMetadata(f *sheets.DataFilter) *sheets.Request {
	return &sheets.Request{DeleteDeveloperMetadata: &sheets.DeleteDeveloperMetadataRequest{DataFilter: f}}
}

// twoValues is both a number and a text.
func twoValues() *sheets.ExtendedValue {
	v := extended(1)
	v.StringValue = extended("x").StringValue
	return v
}

func TestTheLastVisibleTabStays(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	_, err := r.batch(t.Context(), deleteTab(0))
	refused(t, err, 400, "can't remove all the visible sheets")
	_, err = r.batch(t.Context(), setProperties("hidden", sheets.SheetProperties{Hidden: true}))
	refused(t, err, 400, "can't hide all the sheets")
}

func TestBatchSize(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	_, err := r.batch(t.Context())
	refused(t, err, 400, "at least one request")
	body := `{"requests":[{}` + strings.Repeat(",{}", 100_000) + `]}`
	res, err := r.Client().Post("https://sheets.test/v4/spreadsheets/"+r.id+":batchUpdate", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	refused(t, googleapi.CheckResponse(res), 400, "more than the maximum of 100000")
}

func TestRepliesMatchRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	replies := r.must(t, put(0, 0, 0, "x"), addTab(7, "T"), mark(7, 0, "v"), protect(sheets.GridRange{SheetId: 7}, 0))
	if len(replies) != 4 {
		t.Fatalf("got %d replies, want 4", len(replies))
	}
	if p := replies[1].AddSheet.Properties; p.SheetId != 7 || p.Index != 1 {
		t.Errorf("got sheet %d at %d, want 7 at 1", p.SheetId, p.Index)
	}
	if id := replies[2].CreateDeveloperMetadata.DeveloperMetadata.MetadataId; id <= 0 {
		t.Errorf("got metadata id %d, want a drawn one", id)
	}
	if p := replies[3].AddProtectedRange.ProtectedRange; p.ProtectedRangeId <= 0 || !p.RequestingUserCanEdit {
		t.Errorf("got protected range %+v, want a drawn id that the caller can edit", p)
	}
}

func TestNotesFollowTheMask(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fields, want string
	}{
		{"userEnteredValue", "y/old"},
		{"note", "x/new"},
		{"userEnteredValue, note", "y/new"},
		{"*", "y/new"},
	}
	for _, test := range tests {
		t.Run(test.fields, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, sheetstest.Options{})
			write := func(fields, value, note string) *sheets.Request {
				return updateRange(&sheets.GridRange{EndRowIndex: 1, EndColumnIndex: 1}, fields, &sheets.RowData{
					Values: []*sheets.CellData{{UserEnteredValue: extended(value), Note: note}},
				})
			}
			r.must(t, write("*", "x", "old"), write(test.fields, "y", "new"))
			book, err := r.client.Spreadsheets.Get(r.id).IncludeGridData(true).Do()
			if err != nil {
				t.Fatal(err)
			}
			cell := book.Sheets[0].Data[0].RowData[0].Values[0]
			if got := *cell.UserEnteredValue.StringValue + "/" + cell.Note; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestProtection(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.must(t, addTab(7, "T"), protect(sheets.GridRange{}, 3), put(0, 0, 0, "own protection does not stop its owner"))
	err := r.Edit(r.id, func(e *sheetstest.Editor) { e.Tab("T").Protect() })
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		request *sheets.Request
	}{
		{"cells", put(7, 0, 0, "x")},
		{"range", updateRange(&sheets.GridRange{SheetId: 7, EndRowIndex: 1}, "*")},
		{"tab", deleteTab(7)},
		{"title", setProperties("title", sheets.SheetProperties{SheetId: 7, Title: "U"})},
		{"more rows", &sheets.Request{AppendDimension: &sheets.AppendDimensionRequest{SheetId: 7, Dimension: "ROWS", Length: 1}}},
		{"rows", &sheets.Request{DeleteDimension: &sheets.DeleteDimensionRequest{
			Range: &sheets.DimensionRange{SheetId: 7, Dimension: "ROWS", StartIndex: 1, EndIndex: 2},
		}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := r.batch(t.Context(), put(0, 1, 0, "lost"), test.request)
			refused(t, err, 400, "protected cell or object")
		})
	}
	book, err := r.client.Spreadsheets.Get(r.id).Ranges("T").Fields("sheets.protectedRanges").Do()
	if err != nil {
		t.Fatal(err)
	}
	foreign := book.Sheets[0].ProtectedRanges[0]
	if foreign.RequestingUserCanEdit {
		t.Error("got a range that the client can edit, want a foreign one")
	}
	_, err = r.batch(t.Context(), unprotect(foreign.ProtectedRangeId))
	refused(t, err, 400, "protected cell or object")
	if err := r.Edit(r.id, func(e *sheetstest.Editor) { e.Tab("T").Unprotect() }); err != nil {
		t.Fatal(err)
	}
	r.must(t, put(7, 0, 0, "x"), unprotect(3))
}
