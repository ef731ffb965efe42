package sheetstest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server, its client and one spreadsheet.
type rig struct {
	*sheetstest.Server
	client *sheets.Service
	id     string
}

// fatal is the part of testing.T and rapid.T that the rig needs.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func newRig(t fatal, opts sheetstest.Options) *rig {
	t.Helper()
	if opts.TB == nil {
		opts.TB = t
	}
	server := sheetstest.New(opts)
	client, err := server.Service(context.Background())
	if err != nil {
		t.Fatalf("client: %v", err)
	}
	return &rig{Server: server, client: client, id: server.Create("Book")}
}

func (r *rig) batch(ctx context.Context, requests ...*sheets.Request) ([]*sheets.Response, error) {
	res, err := r.client.Spreadsheets.BatchUpdate(r.id, &sheets.BatchUpdateSpreadsheetRequest{Requests: requests}).Context(ctx).Do()
	if err != nil {
		return nil, err
	}
	return res.Replies, nil
}

func (r *rig) must(t fatal, requests ...*sheets.Request) []*sheets.Response {
	t.Helper()
	replies, err := r.batch(context.Background(), requests...)
	if err != nil {
		t.Fatalf("batch: %v", err)
	}
	return replies
}

// put writes values into a row; nil is a cell without a value.
func put(sheet, row, col int64, values ...any) *sheets.Request {
	cells := make([]*sheets.CellData, len(values))
	for i, v := range values {
		cells[i] = &sheets.CellData{UserEnteredValue: extended(v)}
	}
	return &sheets.Request{UpdateCells: &sheets.UpdateCellsRequest{
		Start:  &sheets.GridCoordinate{SheetId: sheet, RowIndex: row, ColumnIndex: col},
		Fields: "userEnteredValue",
		Rows:   []*sheets.RowData{{Values: cells}},
	}}
}

func extended(v any) *sheets.ExtendedValue {
	switch v := v.(type) {
	case nil:
		return nil
	case *sheets.ExtendedValue:
		return v
	case string:
		return &sheets.ExtendedValue{StringValue: &v}
	case int:
		n := float64(v)
		return &sheets.ExtendedValue{NumberValue: &n}
	case float64:
		return &sheets.ExtendedValue{NumberValue: &v}
	case bool:
		return &sheets.ExtendedValue{BoolValue: &v}
	case sheetstest.Formula:
		text := string(v)
		return &sheets.ExtendedValue{FormulaValue: &text}
	}
	panic(fmt.Sprintf("no extended value for %T", v))
}

func addTab(id int64, title string) *sheets.Request {
	return &sheets.Request{AddSheet: &sheets.AddSheetRequest{Properties: &sheets.SheetProperties{SheetId: id, Title: title}}}
}

func deleteTab(id int64) *sheets.Request {
	return &sheets.Request{DeleteSheet: &sheets.DeleteSheetRequest{SheetId: id, ForceSendFields: []string{"SheetId"}}}
}

// mark creates metadata under an explicit id on a sheet.
func mark(sheet, id int64, value string) *sheets.Request {
	return &sheets.Request{CreateDeveloperMetadata: &sheets.CreateDeveloperMetadataRequest{DeveloperMetadata: &sheets.DeveloperMetadata{
		MetadataId: id, MetadataKey: "k", MetadataValue: value, Visibility: "DOCUMENT",
		Location: &sheets.DeveloperMetadataLocation{SheetId: sheet, ForceSendFields: []string{"SheetId"}},
	}}}
}

// refused checks that an error is the service's, with the code and a text.
func refused(t *testing.T, err error, code int, text string) {
	t.Helper()
	e, ok := errors.AsType[*googleapi.Error](err)
	if !ok {
		t.Fatalf("got %v, want an error of the service", err)
	}
	if e.Code != code || !strings.Contains(e.Message, text) {
		t.Errorf("got %d %q, want %d with %q", e.Code, e.Message, code, text)
	}
}

// show prints rows compactly: one bracket a row.
func show(rows [][]any) string { return fmt.Sprintf("%v", rows) }
