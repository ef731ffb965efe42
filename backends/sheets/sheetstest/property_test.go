package sheetstest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/api/sheets/v4"
	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

// TestFencedWritesUnderFaults writes one row a batch, each under its own
// metadata id, with any fault on any batch. Whatever the client was told, a
// batch is there whole and at most once, and one answered 200 is there.
func TestFencedWritesUnderFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			profile := rapid.SampledFrom([]sheetstest.Profile{sheetstest.P1, sheetstest.P2}).Draw(t, "profile")
			r := newRig(t, sheetstest.Options{Profile: profile})
			done := map[int64]bool{}
			t.Repeat(map[string]func(*rapid.T){
				"write": func(t *rapid.T) {
					n := rapid.Int64Range(1, 5).Draw(t, "n")
					kind := rapid.SampledFrom(sheetstest.Kinds()).Draw(t, "kind")
					r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: kind})
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					defer cancel()
					_, err := r.batch(ctx, mark(0, n, "t"), addTab(n, fmt.Sprint("T", n)), put(n, 0, 0, "x"), put(0, n, 0, "x"))
					done[n] = done[n] || err == nil
				},
				"deliver": func(*rapid.T) { r.DeliverLate() },
				"": func(t *rapid.T) {
					for n := int64(1); n <= 5; n++ {
						r.checkWhole(t, n, done[n])
					}
				},
			})
		})
	})
}

// checkWhole compares the traces of batch n with each other.
func (r *rig) checkWhole(t *rapid.T, n int64, done bool) {
	marks := 0
	for _, m := range r.Metadata(r.id) {
		if m.MetadataId == n {
			marks++
		}
	}
	rows := r.Rows(r.id, "Sheet1")
	wrote := n < int64(len(rows)) && len(rows[n]) == 1
	tab := len(r.Rows(r.id, fmt.Sprint("T", n))) == 1
	if marks > 1 || (marks == 1) != wrote || wrote != tab || done && !wrote {
		t.Fatalf("batch %d: got %d marks, row %t, tab %t, answered %t", n, marks, wrote, tab, done)
	}
}

// TestVersionsNeverChange runs random batches, some of them refused at their
// end, and reads every version again: a refused batch leaves no version, and no
// batch changes an older one.
func TestVersionsNeverChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t, sheetstest.Options{})
		r.must(t, updateAt(0, 0, row("a", "b", "c"), row("d", "e", "f"), row("g", "h", "i")), mark(0, 1, "v"), protect(sheets.GridRange{}, 1))
		versions := []string{r.whole(t, 0)}
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			requests := rapid.SliceOfN(rapid.Custom(anyRequest), 1, 3).Draw(t, "requests")
			if _, err := r.batch(context.Background(), requests...); err == nil {
				versions = append(versions, r.whole(t, 0))
			}
		}
		for i, want := range versions {
			if got := r.whole(t, len(versions)-1-i); got != want {
				t.Fatalf("version %d: got  %s\nwant %s", i, got, want)
			}
		}
	})
}

// whole is everything of a version, that many commits ago.
func (r *rig) whole(t fatal, back int) string {
	r.Inject(sheetstest.OpGet, 1, sheetstest.Fault{Stale: back})
	return wire(t, r, "includeGridData=true&fields=sheets(properties,protectedRanges,developerMetadata,data.rowData)")
}

// anyRequest draws a request that is often, but not always, valid.
func anyRequest(t *rapid.T) *sheets.Request {
	i := rapid.Int64Range(0, 3).Draw(t, "i")
	dimension := rapid.SampledFrom([]string{"ROWS", "COLUMNS"}).Draw(t, "dimension")
	return rapid.SampledFrom([]*sheets.Request{
		put(0, i, i, "x", nil, 5),
		put(9, 0, 0, "refused"),
		appendRows(row("y")),
		updateRange(&sheets.GridRange{StartRowIndex: i}, "userEnteredValue"),
		appendDim(dimension, 1),
		insertDim(dimension, i, i+1),
		deleteDim(dimension, i, i+1),
		setProperties("gridProperties", sheets.SheetProperties{GridProperties: &sheets.GridProperties{RowCount: i + 1, ColumnCount: 4}}),
		setProperties("title", sheets.SheetProperties{Title: fmt.Sprint("T", i)}),
		addTab(i, fmt.Sprint("Added", i)),
		deleteTab(i),
		mark(0, i, "w"),
		deleteMetadata(&sheets.DataFilter{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{MetadataId: i}}),
		protect(sheets.GridRange{}, i),
		unprotect(i),
	}).Draw(t, "request")
}
