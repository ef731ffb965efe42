package sheets_test

import (
	"testing"
	"time"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

// The fence as the queue sees it: what stops it, and that RepairFence is the cure and loses nothing.
func TestABrokenFenceStopsTheQueueUntilItIsRepaired(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(w world)
		code sheets.Code
	}{
		{"sheet deleted", func(w world) { w.edit(func(e *sheetstest.Editor) { e.Tab(fenceTitle).Delete() }) }, sheets.CodeFenceBroken},
		{"row cleared", func(w world) {
			w.edit(func(e *sheetstest.Editor) { e.Tab(fenceTitle).SetRow(1, 0, make([]any, 26)...) })
		}, sheets.CodeFenceBroken},
		{"number edited", func(w world) { w.edit(func(e *sheetstest.Editor) { e.Tab(fenceTitle).Set(1, 0, 2) }) }, sheets.CodeFenceBroken},
		{"row put back", func(w world) {
			old := w.server.Rows(w.id, fenceTitle)[1]
			w.enqueue(w.process(), insert("tx", "ux", "x"))
			w.edit(func(e *sheetstest.Editor) { e.Tab(fenceTitle).SetRow(1, 0, old...) })
		}, sheets.CodeFenceRewound},
		{"row and mirror put back", func(w world) {
			row, meta := w.server.Rows(w.id, fenceTitle)[1], w.server.Rows(w.id, metaTitle)
			w.enqueue(w.process(), insert("tx", "ux", "x"))
			w.edit(func(e *sheetstest.Editor) {
				e.Tab(fenceTitle).SetRow(1, 0, row...)
				for i, cells := range meta {
					e.Tab(metaTitle).SetRow(i, 0, cells...)
				}
			})
		}, sheets.CodeFenceBroken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one(t, func(w world) {
				q := w.start()
				w.enqueue(q, insert("t1", "u1", "Ann"))
				tt.edit(w)
				quiet()
				other := w.process()
				_, err := other.EnqueueTasks(w.Context(), []sheets.Transaction{insert("t2", "u2", "Bob")}, sheets.EnqueueOptions{})
				w.wantCode(err, tt.code)
				before := len(w.queueRows(0))
				w.must(other.RepairFence(w.Context()))
				quiet()
				w.enqueue(q, insert("t2", "u2", "Bob"))
				w.processAll(other)
				if got := len(w.queueRows(0)); got != before+1 {
					t.Errorf("rows of the queue: got %d, want %d", got, before+1)
				}
				sequences := map[string]bool{}
				for i, sequence := range w.queueRows(colSequence) {
					if sequences[sequence] {
						t.Errorf("sequence %s was given twice", sequence)
					}
					sequences[sequence] = true
					if status := w.queueRows(colStatus)[i]; status != "done" {
						t.Errorf("row %d: got %s, want done", i, status)
					}
				}
				w.must(other.Initialize(w.Context())) // And everything else still stands.
			})
		})
	}
}

// A process that saw a higher number than the spreadsheet shows takes it for stale, and then for rewound.
func TestStaleReadsAreWaitedOutAndARewindIsNot(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "Ann"))
		quiet()
		until := time.Now().Add(40 * time.Second)
		w.server.SetFaults(func(c sheetstest.Call) sheetstest.Fault {
			if !c.Write && time.Now().Before(until) {
				return sheetstest.Fault{Stale: 1}
			}
			return sheetstest.Fault{}
		})
		w.processAll(q)
		w.wantColumn(colStatus, "done")
		quiet()
		w.server.SetFaults(func(c sheetstest.Call) sheetstest.Fault { return sheetstest.Fault{Stale: 1} })
		_, err := q.ProcessTaskQueue(w.Context(), sheets.ProcessOptions{})
		w.wantCode(err, sheets.CodeFenceRewound)
	})
}

func TestACopyIsRefusedUntilItIsRepaired(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		w.enqueue(w.start(), insert("t1", "u1", "Ann"))
		id, err := w.server.Copy(w.id)
		w.must(err)
		original := w
		w.id = id
		quiet()
		q := w.process()
		_, err = q.ProcessTaskQueue(w.Context(), sheets.ProcessOptions{})
		w.wantCode(err, sheets.CodeFenceBroken)
		w.must(q.RepairFence(w.Context()))
		w.processAll(q)
		w.wantColumn(colStatus, "done")
		original.wantColumn(colStatus, "pending")
	})
}

func TestAForeignSheetIsNamed(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		w.start()
		w.edit(func(e *sheetstest.Editor) {
			e.Tab(fenceTitle).Rename("old fence")
			e.AddTab(fenceTitle)
		})
		q := w.process()
		e := w.wantCode(q.RepairFence(w.Context()), sheets.CodeSystemSheetNameCollision)
		if e.Sheet != fenceTitle {
			t.Errorf("sheet: got %q, want %q", e.Sheet, fenceTitle)
		}
	})
}

// Somebody edits inside the window between a batch's read and its write: it is detected and said, and the queue goes on.
func TestEditsInsideTheWindowAreDetected(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*sheetstest.TabEditor)
	}{
		{"a row inserted above", func(e *sheetstest.TabEditor) { e.InsertRows(1, 1) }},
		{"a row deleted above", func(e *sheetstest.TabEditor) { e.DeleteRows(1, 1) }},
		{"rows swapped", func(e *sheetstest.TabEditor) { e.InsertRows(2, 1); e.DeleteRows(1, 1) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(w world) {
				q := w.start()
				w.enqueue(q, insert("t1", "u1", "a"), insert("t2", "u2", "b"), insert("t3", "u3", "c"))
				w.processAll(q)
				w.enqueue(q, insert("t4", "u4", "d"))
				w.server.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Before: func() {
					w.must(w.server.Edit(w.id, func(e *sheetstest.Editor) { tt.edit(e.Tab(queueTitle)) }))
				}})
				_, _ = q.ProcessTaskQueueBulk(w.Context(), sheets.ProcessOptions{})
				quiet()
				other := w.process()
				w.processAll(other)
				status, err := other.ReadTaskQueueStatus(w.Context())
				w.must(err)
				if status.Tampered+status.Holes == 0 {
					w.Errorf("the edit was not counted: %+v", status)
				}
				w.enqueue(other, insert("t9", "u9", "z"))
				p := w.processAll(other)
				if p.Done != 1 {
					w.Errorf("the next transaction: got %+v, want done", p)
				}
			})
		})
	}
}

// Rows that move while nobody works are found where they are, whether or not the last commit wrote any of them.
func TestRowsThatMoveBetweenBatchesAreFound(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "a"), insert("t2", "u2", "b"))
		w.processAll(q)
		w.enqueue(q, insert("t3", "u3", "c"), insert("t4", "u4", "d"))
		w.must(q.SyncProjection(w.Context(), "Users")) // A commit that writes no row of the queue.
		w.edit(func(e *sheetstest.Editor) {
			e.Tab(queueTitle).DeleteRows(1, 1)
			e.Tab(queueTitle).Set(4, 20, "a remark")
		})
		quiet()
		if p := w.processAll(q); p.Done != 2 {
			w.Errorf("got %+v, want 2 done", p)
		}
		w.wantColumn(colStatus, "done", "done", "done", "")
		w.wantRows(usersTitle, "u1|a|1", "u2|b|1", "u3|c|1", "u4|d|1")
	})
}
