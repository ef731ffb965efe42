package sheetstest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*sheetstest.Editor)
		want string
	}{
		{"set", func(e *sheetstest.Editor) { e.Tab("Sheet1").Set(1, 1, 5) }, "[[a b] [c 5]]"},
		{"set beyond the grid", func(e *sheetstest.Editor) { e.Tab("Sheet1").Set(0, 30, true) },
			"[[a b" + strings.Repeat(" <nil>", 28) + " true] [c d]]"},
		{"blank a cell", func(e *sheetstest.Editor) { e.Tab("Sheet1").Set(1, 1, nil) }, "[[a b] [c]]"},
		{"set a row", func(e *sheetstest.Editor) { e.Tab("Sheet1").SetRow(2, 0, "e", 1.5, sheetstest.Formula("=A1")) }, "[[a b] [c d] [e 1.5 =A1]]"},
		{"insert rows", func(e *sheetstest.Editor) { e.Tab("Sheet1").InsertRows(1, 1) }, "[[a b] [] [c d]]"},
		{"delete rows", func(e *sheetstest.Editor) { e.Tab("Sheet1").DeleteRows(0, 1) }, "[[c d]]"},
		{"protected for the client only", func(e *sheetstest.Editor) {
			tab := e.Tab("Sheet1")
			tab.Protect()
			tab.Set(0, 0, "x")
			tab.DeleteRows(1, 1)
		}, "[[x b]]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, sheetstest.Options{})
			r.must(t, put(0, 0, 0, "a", "b"), put(0, 1, 0, "c", "d"))
			if err := r.Edit(r.id, test.edit); err != nil {
				t.Fatal(err)
			}
			if got := show(r.Rows(r.id, "Sheet1")); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestEditTabs(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	err := r.Edit(r.id, func(e *sheetstest.Editor) {
		e.AddTab("New").Set(0, 0, "x")
		e.Tab("Sheet1").Delete()
		e.Tab("New").Rename("Newer")
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(len(r.Tabs(r.id)), r.Rows(r.id, "Newer")); got != "1 [[x]]" {
		t.Errorf("got %s, want 1 [[x]]", got)
	}
}

// TestEditFails: the first error is reported and nothing is changed.
func TestEditFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*sheetstest.Editor)
		text string
	}{
		{"no tab", func(e *sheetstest.Editor) { e.Tab("T").Set(0, 0, 1) }, `edit tab "T": no such tab`},
		{"title in use", func(e *sheetstest.Editor) { e.AddTab("SHEET1") }, `add tab "SHEET1"`},
		{"last tab", func(e *sheetstest.Editor) { e.Tab("Sheet1").Delete() }, `delete "Sheet1"`},
		{"unknown type", func(e *sheetstest.Editor) { e.Tab("Sheet1").Set(0, 0, []int{}) }, "cannot hold a []int"},
		{"not a number", func(e *sheetstest.Editor) { e.Tab("Sheet1").Set(0, 0, math.NaN()) }, "cannot hold NaN"},
		{"the first counts", func(e *sheetstest.Editor) { e.Tab("T").Delete(); e.Tab("U").Unprotect() }, `"T"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, sheetstest.Options{})
			err := r.Edit(r.id, func(e *sheetstest.Editor) {
				e.Tab("Sheet1").Set(0, 0, "lost")
				test.edit(e)
			})
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %q", err, test.text)
			}
			if got := show(r.Rows(r.id, "Sheet1")); got != "[]" {
				t.Errorf("got %s, want []", got)
			}
		})
	}
	if err := newRig(t, sheetstest.Options{}).Edit("nowhere", nil); err == nil {
		t.Error("got no error for a spreadsheet that is not there")
	}
}

// TestEditRunsAgain: an edit that was overtaken by a write starts over, so
// that neither is lost.
func TestEditRunsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	runs := 0
	err := r.Edit(r.id, func(e *sheetstest.Editor) {
		if runs++; runs == 1 {
			r.must(t, put(0, 0, 0, "client"))
		}
		e.Tab("Sheet1").Set(0, 1, "person")
	})
	if got := show(r.Rows(r.id, "Sheet1")); err != nil || runs != 2 || got != "[[client person]]" {
		t.Errorf("got %s after %d runs (%v), want both after 2", got, runs, err)
	}
}

func TestStateOfNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	if r.Rows(r.id, "T") != nil || r.Rows("nowhere", "T") != nil || r.Tabs("nowhere") != nil || r.Metadata("nowhere") != nil {
		t.Error("got state of what does not exist, want nil")
	}
	if got := r.Rows(r.id, "Sheet1"); got == nil || len(got) != 0 {
		t.Errorf("got %v, want an empty tab", got)
	}
}

// TestCopy: the copy has everything and goes its own way.
func TestCopy(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.must(t, addTab(7, "T"), put(7, 0, 0, "x"), mark(7, 4, "v"), mark(7, 5, "v"), mark(7, 6, "v"))
	first := r.id
	id, err := r.Copy(first)
	if err != nil {
		t.Fatal(err)
	}
	r.must(t, put(7, 0, 1, "first"), mark(7, 7, "first"))
	r.id = id
	r.must(t, put(7, 0, 1, "copy"), mark(7, 7, "copy"))
	for id, name := range map[string]string{first: "first", id: "copy"} {
		m := r.Metadata(id)
		if got, want := fmt.Sprintf("%v %d %s", r.Rows(id, "T"), len(m), m[3].MetadataValue), fmt.Sprintf("[[x %s]] 4 %s", name, name); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got, want := tabs(r), "Sheet1#0 1000x26, T#7 1000x26"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := r.Copy("nowhere"); err == nil {
		t.Error("got no error for a spreadsheet that is not there")
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.must(t, put(0, 0, 0, "x"))
	r.ResetStats()
	r.must(t, put(0, 0, 0, "xx"))
	_, _ = r.batch(t.Context(), put(9, 0, 0, "refused calls count"))
	read(t, r, "Sheet1!A1")
	stats := r.Stats()
	if got := stats[sheetstest.OpBatchUpdate]; got.Calls != 2 || got.Sent == 0 || got.Received == 0 {
		t.Errorf("got %+v, want 2 calls with bytes both ways", got)
	}
	want := int64(len(`{"majorDimension":"ROWS","range":"Sheet1!A1","values":[["xx"]]}`))
	if got := stats[sheetstest.OpValuesGet]; got != (sheetstest.Stat{Calls: 1, Received: want}) {
		t.Errorf("got %+v, want 1 call of %d bytes", got, want)
	}
}

// reports records what would fail a test.
type reports []string

func (r *reports) Errorf(format string, args ...any) { *r = append(*r, fmt.Sprintf(format, args...)) }

// TestUnmodelled: what the server does not model fails the test it serves.
func TestUnmodelled(t *testing.T) {
	t.Parallel()
	onRow := mark(0, 5, "v")
	onRow.CreateDeveloperMetadata.DeveloperMetadata.Location = &sheets.DeveloperMetadataLocation{
		DimensionRange: &sheets.DimensionRange{Dimension: "ROWS", EndIndex: 1},
	}
	tests := []struct {
		request *sheets.Request
		what    string
	}{
		{&sheets.Request{SortRange: &sheets.SortRangeRequest{}}, `the request kind "sortRange"`},
		{updateRange(&sheets.GridRange{}, "userEnteredFormat"), `the cell field "userEnteredFormat"`},
		{setProperties("tabColorStyle", sheets.SheetProperties{}), `the sheet property "tabColorStyle"`},
		{protect(sheets.GridRange{EndRowIndex: 1}, 3), "the protection of a part of a sheet"},
		{onRow, "developer metadata on a row or column"},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			var failed reports
			r := newRig(t, sheetstest.Options{TB: &failed, Profile: sheetstest.P2})
			_, err := r.batch(t.Context(), put(0, 0, 0, "lost"), test.request)
			refused(t, err, 400, "does not model "+test.what)
			if got := fmt.Sprint(r.Unsupported()); got != "["+test.what+"]" || len(failed) != 1 {
				t.Errorf("got %s, reported %q, want %s reported once", got, failed, test.what)
			}
		})
	}
}

func TestUnmodelledMethod(t *testing.T) {
	t.Parallel()
	var failed reports
	r := newRig(t, sheetstest.Options{TB: &failed})
	_, err := r.client.Spreadsheets.Values.Clear(r.id, "Sheet1", &sheets.ClearValuesRequest{}).Do()
	refused(t, err, 400, "does not model POST")
	if len(failed) != 1 {
		t.Errorf("got reports %q, want one", failed)
	}
}

// TestMisspeltField: an unknown name is not taken for an absent one.
func TestMisspeltField(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	for _, body := range []string{`{"request":[]}`, `{"requests":[{"addSheet":{"property":{}}}]}`, `{"requests":`} {
		res, err := r.Client().Post("https://sheets.test/v4/spreadsheets/"+r.id+":batchUpdate", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 400 {
			t.Errorf("%s: got %s, want 400", body, res.Status)
		}
	}
}
