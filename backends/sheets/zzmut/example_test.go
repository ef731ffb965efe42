package sheetstest_test

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/zzmut"
)

// A write is answered 503 although it is on its way: it lands just before the
// next one.
func Example() {
	ctx := context.Background()
	server := sheetstest.New(sheetstest.Options{})
	service, err := server.Service(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	id := server.Create("Orders")
	write := func(row int64, text string) error {
		_, err := service.Spreadsheets.BatchUpdate(id, &sheets.BatchUpdateSpreadsheetRequest{
			Requests: []*sheets.Request{{UpdateCells: &sheets.UpdateCellsRequest{
				Start:  &sheets.GridCoordinate{RowIndex: row},
				Fields: "userEnteredValue",
				Rows:   []*sheets.RowData{{Values: []*sheets.CellData{{UserEnteredValue: &sheets.ExtendedValue{StringValue: &text}}}}},
			}}},
		}).Context(ctx).Do()
		return err
	}

	server.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: sheetstest.Late})
	if e, ok := errors.AsType[*googleapi.Error](write(0, "first")); ok {
		fmt.Println(e.Code, server.Rows(id, "Sheet1"))
	}
	fmt.Println(write(1, "second"), server.Rows(id, "Sheet1"))
	// Output:
	// 503 []
	// <nil> [[first] [second]]
}

// People edit between a program's read and its write.
func ExampleServer_Edit() {
	server := sheetstest.New(sheetstest.Options{})
	id := server.Create("Orders")
	err := server.Edit(id, func(e *sheetstest.Editor) {
		e.Tab("Sheet1").SetRow(0, 0, "id", "amount")
		e.Tab("Sheet1").SetRow(1, 0, "o-1", 12.5)
	})
	fmt.Println(err, server.Rows(id, "Sheet1"))
	// Output: <nil> [[id amount] [o-1 12.5]]
}
