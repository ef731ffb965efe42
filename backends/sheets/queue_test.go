package sheets_test

import (
	"testing"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/projected"
)

func TestSubmitAppliesAndAnswers(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		out, err := q.Submit(w.Context(), insert("t1", "u1", "Ann"))
		w.must(err)
		want := sheets.Verdict{Status: sheets.StatusDone}
		if out.Status != projected.Projected || out.Result.Verdict != want || out.Result.Sequence != 1 {
			w.Errorf("got %v %+v (%v), want projected, done, sequence 1", out.Status, out.Result, out.Err)
		}
		w.wantRows(usersTitle, "u1|Ann|1")
		w.wantColumn(colStatus, "done")
		w.wantColumn(colPayload, `{"redacted":true}`)
		out, err = q.Submit(w.Context(), insert("t2", "u1", "Bob"))
		w.must(err)
		if v := out.Result.Verdict; v.Status != sheets.StatusFailed || v.Code != sheets.CodeConflict {
			w.Errorf("verdict of a second insert: got %+v, want failed by a conflict", v)
		}
		w.wantRows(usersTitle, "u1|Ann|1")
		w.must(q.Close(w.Context()))
	})
}

func TestEnqueueThenProcess(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "Ann"), insert("t2", "u2", "Bob"), update("t3", "u1", "Anna", 1), remove("t4", "u2", "Bob", 1))
		w.wantColumn(colStatus, "pending", "pending", "pending", "pending")
		w.wantRows(usersTitle)
		p := w.processAll(q)
		if p.Done != 4 || p.Failed != 0 || len(p.Waiting) != 0 {
			w.Errorf("got %+v, want 4 done", p)
		}
		w.wantRows(usersTitle, "u1|Anna|2")
		w.wantColumn(colStatus, "done", "done", "done", "done")
		w.wantColumn(colSequence, "1", "2", "3", "4")
	})
}
