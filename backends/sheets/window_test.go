package sheets_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

// Here people move rows of internal sheets between a batch's read and its write, which nothing excludes. Then a
// transaction may be lost or doubled, but not unnoticed, and the queue goes on.
func TestSimulatedEditsInsideTheWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) { rapid.SyncTest(rt, simulateWindow) })
}

func simulateWindow(rt *rapid.T) {
	w := newWorld(rt, sheetstest.Options{TB: rt}, sheets.MetadataFence)
	defer w.close()
	q := w.start()
	var acked []string
	for i := range rapid.IntRange(2, 6).Draw(rt, "rounds") {
		var txs []sheets.Transaction
		for range rapid.IntRange(1, 3).Draw(rt, "transactions") {
			id := fmt.Sprintf("t%d-%d", i, len(txs))
			txs = append(txs, insert(id, id, "x"))
			acked = append(acked, id)
		}
		w.enqueue(q, txs...)
		w.server.Inject(sheetstest.OpBatchUpdate, rapid.IntRange(1, 2).Draw(rt, "write"), sheetstest.Fault{Before: func() {
			w.moveRows(rt)
		}})
		_, _ = q.ProcessTaskQueueBulk(context.Background(), sheets.ProcessOptions{})
		if rapid.Bool().Draw(rt, "pause") {
			quiet()
		}
	}
	w.server.SetFaults(nil)
	for range 4 {
		time.Sleep(10 * time.Minute)
		w.processAll(w.process())
	}
	status, err := w.process().ReadTaskQueueStatus(context.Background())
	w.must(err)
	table := w.server.Rows(w.id, usersTitle)
	for _, id := range acked {
		in := slices.Index(w.queueRows(colTransaction), id)
		applied := 0
		for _, row := range table {
			if len(row) > 0 && row[0] == id {
				applied++
			}
		}
		done := in >= 0 && w.queueRows(colStatus)[in] == "done"
		failed := in >= 0 && w.queueRows(colStatus)[in] == "failed"
		right := done && applied == 1 || failed && applied == 0
		if !right && status.Tampered+status.Holes == 0 {
			rt.Errorf("%s: done %v, failed %v, applied %d times, and nobody noticed", id, done, failed, applied)
		}
	}
	w.enqueue(w.process(), insert("last", "last", "x"))
	if p := w.processAll(w.process()); p.Done != 1 {
		rt.Errorf("the queue does not go on: %+v", p)
	}
}

// moveRows is one edit of the queue, or of a table.
func (w world) moveRows(rt *rapid.T) {
	title := rapid.SampledFrom([]string{queueTitle, usersTitle}).Draw(rt, "sheet")
	last := len(w.server.Rows(w.id, title))
	if last < 2 {
		return
	}
	at := rapid.IntRange(1, last-1).Draw(rt, "row")
	remove := rapid.Bool().Draw(rt, "remove") && title == queueTitle // A row that is deleted from a table is deleted.
	w.must(w.server.Edit(w.id, func(e *sheetstest.Editor) {
		if remove {
			e.Tab(title).DeleteRows(at, 1)
		} else {
			e.Tab(title).InsertRows(at, 1)
		}
	}))
}
