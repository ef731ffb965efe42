package sheetstest_test

import (
	"context"
	"testing"

	"google.golang.org/api/option"
	"google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/zzmut"
)

// TestSocket runs the client over a real socket, under both profiles.
func TestSocket(t *testing.T) {
	t.Parallel()
	for _, p := range []sheetstest.Profile{sheetstest.P1, sheetstest.P2} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			server := sheetstest.New(sheetstest.Options{Profile: p, TB: t})
			url, shut, err := server.Listen()
			if err != nil {
				t.Fatal(err)
			}
			defer shut()
			service, err := sheets.NewService(t.Context(), option.WithEndpoint(url), option.WithoutAuthentication())
			if err != nil {
				t.Fatal(err)
			}
			id := server.Create("Orders")
			text := "a"
			res, err := service.Spreadsheets.BatchUpdate(id, &sheets.BatchUpdateSpreadsheetRequest{
				Requests: []*sheets.Request{{UpdateCells: &sheets.UpdateCellsRequest{
					Start: &sheets.GridCoordinate{RowIndex: 1}, Fields: "userEnteredValue",
					Rows: []*sheets.RowData{{Values: []*sheets.CellData{{UserEnteredValue: &sheets.ExtendedValue{StringValue: &text}}}}},
				}}},
				IncludeSpreadsheetInResponse: true, ResponseRanges: []string{"Sheet1!A2"}, ResponseIncludeGridData: true,
			}).Context(t.Context()).Do()
			if err != nil {
				t.Fatal(err)
			}
			got := res.UpdatedSpreadsheet.Sheets[0].Data[0].RowData[0].Values[0].UserEnteredValue.StringValue
			if got == nil || *got != "a" {
				t.Errorf("got %v, want a", got)
			}
		})
	}
}

// TestSocketFaults: a dropped connection and a hanging call end for the client.
// The transport repeats neither.
func TestSocketFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	url, shut, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer shut()
	if r.client, err = sheets.NewService(t.Context(), option.WithEndpoint(url), option.WithoutAuthentication()); err != nil {
		t.Fatal(err)
	}
	r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: sheetstest.CutAnswer})
	if _, err := r.batch(t.Context(), put(0, 0, 0, "cut")); err == nil || code(err) != 0 {
		t.Errorf("got %v, want an error without an answer", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: sheetstest.HangUnapplied, Before: cancel})
	if _, err := r.batch(ctx, put(0, 1, 0, "lost")); ctx.Err() == nil || err == nil {
		t.Errorf("got %v, want the call to end with its context", err)
	}
	if got := show(r.Rows(r.id, "Sheet1")); got != "[[cut]]" || r.Stats()[sheetstest.OpBatchUpdate].Calls != 2 {
		t.Errorf("got %s after %+v, want [[cut]] after 2 calls", got, r.Stats())
	}
}
