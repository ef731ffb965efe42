// Package sheetstest serves an in-memory Google Sheets for tests: the REST
// interface of Sheets v4 as far as a table store needs it, driven by the real
// client google.golang.org/api/sheets/v4.
//
//	server := sheetstest.New(sheetstest.Options{TB: t})
//	service, err := server.Service(t.Context())
//	id := server.Create("Orders")
//	_, err = service.Spreadsheets.BatchUpdate(id, batch).Do()
//
// [Server.Client] and [Server.Service] use no socket and no goroutine and take
// time from package time, so they work inside a testing/synctest bubble.
// [Server.Listen] serves a local port.
//
// # What is modelled
//
// The methods spreadsheets.create, get, getByDataFilter and batchUpdate;
// values.get, batchGet and append; developerMetadata.get and search. In a batch:
// addSheet, deleteSheet, updateSheetProperties, updateCells, appendCells,
// appendDimension, insertDimension, deleteDimension, addProtectedRange,
// deleteProtectedRange, createDeveloperMetadata and deleteDeveloperMetadata.
//
// A batch is applied as a whole, in list order and across tabs, or not at all.
// Answers honour ranges, includeGridData and fields masks, and leave out
// trailing blank rows and cells. Errors have the body that
// googleapi.Error reads. Limits hold: 50,000 characters in a cell, 100 in a
// title, 30,000 of metadata in one place, 100,000 requests in a batch, the
// bounds of the grid, and [Options].MaxCells.
//
// A tab that a person protected ([TabEditor.Protect]) refuses the client's
// edits. Appends look for the end of their table when they arrive and write
// there when they are applied, so concurrent ones overwrite each other.
//
// # What is not
//
// A request of another kind fails Options.TB, is answered 400 and is kept in
// [Server.Unsupported]. Formulas are kept but not computed. Cells have a value
// and a note, no format. Metadata belongs to a sheet or the spreadsheet, not to
// a row or column, and protection to a whole sheet. There are no users, no permissions and no named ranges.
//
// # Undocumented behaviour
//
// Where the service's documentation leaves a question open, the [Profile]s
// answer it both ways. Code that passes under [P1] and [P2] does not depend on
// the answer. The texts of errors are not documented either: do not read them.
//
// # Faults
//
// [Server.Inject] puts a [Fault] on the nth call of a method; Options.Faults
// and [Server.SetFaults] decide the fault of each call. Each [Kind] says whether
// the call was done. [Server.DeliverLate] brings in writes that were answered
// 503 too early.
//
// # State
//
// [Server.Rows], [Server.Tabs] and [Server.Metadata] show what is stored, with
// no fault or staleness. [Server.Edit] makes the edits of a person,
// [Server.Copy] copies a spreadsheet as Drive does, and [Server.Stats] counts
// calls and bytes.
package sheetstest
