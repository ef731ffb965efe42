package sheetstest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends/sheets/zzmut"
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
