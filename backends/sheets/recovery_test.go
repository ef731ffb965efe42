package sheets_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
	"github.com/goferry/goferry/projected"
)

// failWrites makes every write from the nth on fail as kind says, until it is called with none.
func (w world) failWrites(from int, kind sheetstest.Kind) {
	n := 0
	w.server.SetFaults(func(c sheetstest.Call) sheetstest.Fault {
		if !c.Write {
			return sheetstest.Fault{}
		}
		if n++; n < from || kind == sheetstest.None {
			return sheetstest.Fault{}
		}
		return sheetstest.Fault{Kind: kind}
	})
}

// dies runs f as a process that dies at its nth write.
func (w world) dies(atWrite int, f func(ctx context.Context)) {
	w.diesBy(sheetstest.HangUnapplied, atWrite, f)
}

func (w world) diesBy(kind sheetstest.Kind, atWrite int, f func(ctx context.Context)) {
	w.failWrites(atWrite, kind)
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	f(ctx)
	w.server.SetFaults(nil)
}

// A claimed transaction whose process died is applied by another one, once, after the lease.
func TestAnotherProcessFinishesAClaim(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "Ann"), insert("t2", "u2", "Bob"))
		w.dies(2, func(ctx context.Context) { _, _ = q.ProcessTaskQueueBulk(ctx, sheets.ProcessOptions{}) })
		w.wantColumn(colStatus, "processing", "processing")
		w.wantColumn(colCode, "claimed", "claimed")
		other := w.process()
		p := w.processAll(other)
		why, _ := errors.AsType[*sheets.WaitingError](p.Waiting["t1"])
		if why == nil || why.Why != sheets.WaitingClaimed {
			t.Errorf("before the lease: got %v, want t1 claimed", p.Waiting)
		}
		quiet()
		w.processAll(other)
		w.wantColumn(colStatus, "done", "done")
		w.wantColumn(colAttempts, "2", "2")
		w.wantRows(usersTitle, "u1|Ann|1", "u2|Bob|1")
		// The dead process comes back and has nothing to do.
		w.processAll(q)
		w.wantRows(usersTitle, "u1|Ann|1", "u2|Bob|1")
	})
}

// The same process goes on at once: its own claim needs no lease and costs no attempt.
func TestAProcessGoesOnWithItsOwnClaim(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "Ann"))
		w.dies(2, func(ctx context.Context) { _, _ = q.ProcessTaskQueueBulk(ctx, sheets.ProcessOptions{}) })
		w.processAll(q)
		w.wantColumn(colStatus, "done")
		w.wantColumn(colAttempts, "1")
	})
}

// S20: what fails every time runs out of attempts, and blocks nobody after that.
func TestAttemptsRunOut(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		w.start()
		w.enqueue(w.process(), insert("t1", "u1", "Ann"))
		for range 3 {
			w.dies(2, func(ctx context.Context) { _, _ = w.process().ProcessTaskQueueBulk(ctx, sheets.ProcessOptions{}) })
			quiet()
		}
		w.wantColumn(colAttempts, "3")
		q := w.process()
		w.enqueue(q, insert("t2", "u2", "Bob"))
		w.processAll(q)
		w.wantColumn(colStatus, "failed", "done")
		w.wantColumn(colCode, "retry_limit_exceeded", "")
		w.wantRows(usersTitle, "u2|Bob|1")
	})
}

// S12, S15: every way to lose the answer of a write, at every write of a Submit, ends with the transaction applied once.
func TestEveryLostAnswerIsFoundAgain(t *testing.T) {
	t.Parallel()
	kinds := []sheetstest.Kind{
		sheetstest.TooManyRequests, sheetstest.Internal, sheetstest.Unavailable, sheetstest.BadGateway, sheetstest.Late,
		sheetstest.CutAnswer, sheetstest.TruncatedAnswer, sheetstest.JunkAnswer,
	}
	for _, kind := range kinds {
		for write := 1; write <= 2; write++ {
			for _, times := range []int{1, 6} {
				t.Run(fmt.Sprint(kind, " write ", write, " times ", times), func(t *testing.T) {
					t.Parallel()
					each(t, func(w world) {
						q := w.start()
						n := 0
						w.server.SetFaults(func(c sheetstest.Call) sheetstest.Fault {
							if !c.Write {
								return sheetstest.Fault{}
							}
							if n++; n >= write && n < write+times {
								return sheetstest.Fault{Kind: kind}
							}
							return sheetstest.Fault{}
						})
						out, err := q.Submit(w.Context(), insert("t1", "u1", "Ann"))
						w.must(err)
						if times == 1 && out.Status != projected.Projected || times > 1 && out.Result.Verdict.Status == sheets.StatusFailed {
							w.Errorf("got %v %+v (%v), want projected and done, or committed after six faults", out.Status, out.Result, out.Err)
						}
						w.server.DeliverLate()
						quiet()
						w.processAll(w.process())
						w.wantColumn(colStatus, "done")
						w.wantColumn(colTransaction, "t1")
						w.wantRows(usersTitle, "u1|Ann|1")
					})
				})
			}
		}
	}
}

// A caller that gave up submits again, to another process, and is answered; nothing is applied twice.
func TestResubmittingElsewhereAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, kind := range []sheetstest.Kind{sheetstest.HangApplied, sheetstest.HangUnapplied, sheetstest.Late} {
		each(t, func(w world) {
			w.start()
			a, b := w.process(), w.process()
			w.failWrites(1, kind)
			ctx, cancel := context.WithTimeout(w.Context(), time.Second)
			defer cancel()
			if _, err := a.EnqueueTasks(ctx, []sheets.Transaction{insert("t1", "u1", "Ann")}, sheets.EnqueueOptions{}); err == nil {
				w.Fatal("got no error, want the context's")
			}
			w.server.SetFaults(nil)
			w.enqueue(b, insert("t1", "u1", "Ann"))
			w.server.DeliverLate()
			w.processAll(b)
			w.wantColumn(colTransaction, "t1")
			w.wantRows(usersTitle, "u1|Ann|1")
		})
	}
}

// S8: a group whose rows are not all there is held until the lease, holds back what comes later, and then fails.
func TestAnIncompleteGroupWaitsAndFails(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		two := insert("t1", "u1", "Ann")
		two.Tasks = append(two.Tasks, insert("x", "u2", "Bob").Tasks...)
		w.enqueue(q, two, insert("t2", "u3", "Cy"))
		quiet()
		w.edit(func(e *sheetstest.Editor) {
			tab := e.Tab(queueTitle)
			tab.DeleteRows(2, 1)
			tab.Set(1, colUpdated, time.Now().UTC().Format(time.RFC3339))
		})
		other := w.process()
		p := w.processAll(other)
		why, _ := errors.AsType[*sheets.WaitingError](p.Waiting["t1"])
		behind, _ := errors.AsType[*sheets.WaitingError](p.Waiting["t2"])
		if why == nil || why.Why != sheets.WaitingIncomplete || why.Have != 1 || why.Want != 2 || behind == nil || behind.Behind != "t1" {
			w.Fatalf("waiting: got %v, want t1 incomplete 1 of 2, and t2 behind it", p.Waiting)
		}
		w.wantRows(usersTitle)
		quiet()
		w.processAll(other)
		w.wantColumn(colStatus, "failed", "done")
		w.wantColumn(colCode, "invalid_task", "")
		w.wantRows(usersTitle, "u3|Cy|1")
		status, err := other.ReadTaskQueueStatus(w.Context())
		w.must(err)
		if status.Tampered == 0 || status.Holes != 1 {
			w.Errorf("status: got tampered %d, holes %d, want some and 1", status.Tampered, status.Holes)
		}
	})
}

// Section 7: rows that somebody else left half way are reconciled with the table, and with nothing else.
func TestUnstampedGroupsAreReconciled(t *testing.T) {
	t.Parallel()
	cross := func() sheets.Transaction {
		tx := insert("t1", "u1", "Ann")
		tx.Tasks = append(tx.Tasks, sheets.Insert("o1", "Orders", "id", sheets.Row{"id": "o1", "total": 5, "_version": 1}))
		return tx
	}
	tests := []struct {
		name          string
		users, orders bool // what the other writer did before it died
		statuses      [2]string
		want          [2]string
		code          string
		rows          []string
	}{
		{"nothing applied: S2, S3", false, false, [2]string{"processing", "processing"}, [2]string{"done", "done"}, "", []string{"u1|Ann|1"}},
		{"all applied: S2", true, true, [2]string{"processing", "processing"}, [2]string{"done", "done"}, "", []string{"u1|Ann|1"}},
		{"half applied: S6, S7", true, false, [2]string{"processing", "processing"}, [2]string{"failed", "failed"}, "partial_apply", []string{"u1|Ann|1"}},
		{"one marked done, other not applied", true, false, [2]string{"done", "pending"}, [2]string{"failed", "failed"}, "partial_apply", []string{"u1|Ann|1"}},
		{"one marked done, other applied", true, true, [2]string{"done", "processing"}, [2]string{"done", "done"}, "", []string{"u1|Ann|1"}},
		{"one failed", false, false, [2]string{"failed", "pending"}, [2]string{"failed", "failed"}, "partial_apply", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(w world) {
				w.enqueue(w.start(), cross())
				w.edit(func(e *sheetstest.Editor) {
					for i, status := range tt.statuses {
						e.Tab(queueTitle).Set(1+i, colStatus, status)
					}
					if tt.users {
						e.Tab(usersTitle).SetRow(1, 0, "u1", "Ann", 1)
					}
					if tt.orders {
						e.Tab(w.canonical("Orders")).SetRow(1, 0, "o1", 5, 1)
					}
				})
				quiet()
				q := w.process()
				p := w.processAll(q)
				w.wantColumn(colStatus, tt.want[0], tt.want[1])
				w.wantColumn(colCode, tt.code, tt.code)
				w.wantRows(usersTitle, tt.rows...)
				if p.Recovered != 1 {
					w.Errorf("recovered: got %d, want 1", p.Recovered)
				}
				quiet()
				w.processAll(w.process()) // S7: it stays so.
				w.wantColumn(colStatus, tt.want[0], tt.want[1])
			})
		})
	}
}

// S5: a key that is absent proves no delete. Stale groups are settled before anything later is applied.
func TestAnAbsentKeyProvesNoDelete(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "Ann"))
		w.processAll(q)
		w.enqueue(q, remove("t2", "u1", "Ann", 1), insert("t3", "u1", "New"))
		w.edit(func(e *sheetstest.Editor) {
			e.Tab(queueTitle).Set(2, colStatus, "processing")
			e.Tab(usersTitle).DeleteRows(1, 1)
		})
		quiet()
		w.processAll(w.process())
		w.wantColumn(colStatus, "done", "failed", "done")
		w.wantColumn(colCode, "", "partial_apply", "")
		w.wantRows(usersTitle, "u1|New|1")
	})
}

// A row that somebody spoiled fails its own transaction, and nobody else's.
func TestEditedRowsAreQuarantined(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*sheetstest.TabEditor)
		want string // the code of t1
	}{
		{"payload", func(e *sheetstest.TabEditor) { e.Set(1, colPayload, `{"row":{"id":"u1","name":"Eve","_version":1}}`) }, "invalid_task"},
		{"key", func(e *sheetstest.TabEditor) { e.Set(1, colKey, "u9") }, "invalid_task"},
		{"fingerprint", func(e *sheetstest.TabEditor) { e.Set(1, colFingerprint, "00") }, "invalid_task"},
		{"status", func(e *sheetstest.TabEditor) { e.Set(1, colStatus, "later") }, "invalid_task"},
		{"attempts", func(e *sheetstest.TabEditor) { e.Set(1, colAttempts, -3) }, "invalid_task"},
		{"redacted before it is done", func(e *sheetstest.TabEditor) { e.Set(1, colPayload, `{"redacted":true}`) }, "invalid_task"},
		{"sequence is text", func(e *sheetstest.TabEditor) { e.Set(1, colSequence, "first") }, "invalid_task"},
		{"size", func(e *sheetstest.TabEditor) { e.Set(1, colSize, 2) }, "invalid_task"},
		{"a formula in the key", func(e *sheetstest.TabEditor) { e.Set(1, colKey, sheetstest.Formula("=A1")) }, "invalid_task"},
		{"the row copied", func(e *sheetstest.TabEditor) {
			e.InsertRows(3, 1)
			e.SetRow(3, 0, "t1-1", "t1", 0, 1, "pending", "insert", "Users", "id", "u1")
		}, "invalid_task"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(w world) {
				w.enqueue(w.start(), insert("t1", "u1", "Ann"), insert("t2", "u2", "Bob"))
				w.edit(func(e *sheetstest.Editor) { tt.edit(e.Tab(queueTitle)) })
				quiet()
				q := w.process()
				w.processAll(q)
				quiet()
				w.processAll(q)
				if got := w.queueRows(colCode)[0]; got != tt.want {
					w.Errorf("code of t1: got %q, want %q", got, tt.want)
				}
				w.wantRows(usersTitle, "u2|Bob|1")
				out, err := q.Submit(w.Context(), insert("t3", "u3", "Cy"))
				w.must(err)
				if out.Status != projected.Projected {
					w.Errorf("the next transaction: got %v (%v), want projected", out.Status, out.Err)
				}
				status, err := q.ReadTaskQueueStatus(w.Context())
				w.must(err)
				if status.Tampered == 0 {
					w.Error("the edit was not counted")
				}
			})
		})
	}
}

// A row whose transaction cannot be told is left alone and counted; a task that is done somewhere is not done again.
func TestRowsOfNobodyAndTwins(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "Ann"))
		w.processAll(q)
		w.edit(func(e *sheetstest.Editor) {
			tab := e.Tab(queueTitle)
			tab.SetRow(2, 0, "note to self")
			// The done task once more, as a copy and under another transaction.
			for i, tx := range []string{"t1", "t8"} {
				tab.SetRow(3+i, 0, "t1-1", tx, 0, 9+i, "pending", "insert", "Users", "id", "u7", nil,
					`{"row":{"id":"u7","_version":1}}`, 0)
			}
		})
		quiet()
		other := w.process()
		w.processAll(other)
		w.wantColumn(colStatus, "done", "", "failed", "failed")
		w.wantColumn(colCode, "", "", "duplicate_task", "duplicate_task")
		w.wantRows(usersTitle, "u1|Ann|1")
		status, err := other.ReadTaskQueueStatus(w.Context())
		w.must(err)
		if status.Quarantined != 1 {
			t.Errorf("quarantined: got %d, want 1", status.Quarantined)
		}
		w.enqueue(other, insert("t2", "u2", "Bob"))
		w.processAll(other)
		w.wantRows(usersTitle, "u1|Ann|1", "u2|Bob|1")
		if got := strings.Join(w.queueRows(0), " "); got != "t1-1 note to self t1-1 t1-1 t2-1" {
			t.Errorf("task ids: got %q", got)
		}
	})
}

// A batch that the service refuses for good is halved until the group to blame is alone.
func TestARefusedBatchIsHalved(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		order := sheets.Transaction{ID: "bad", Tasks: []sheets.Task{
			sheets.Insert("bad-1", "Orders", "id", sheets.Row{"id": "o1", "total": 1, "_version": 1}),
		}}
		w.enqueue(q, insert("t1", "u1", "a"), insert("t2", "u2", "b"), order, insert("t4", "u4", "d"), insert("t5", "u5", "e"))
		w.edit(func(e *sheetstest.Editor) { e.Tab(w.canonical("Orders")).Protect() })
		p := w.processAll(q)
		w.wantColumn(colStatus, "done", "done", "failed", "done", "done")
		w.wantColumn(colCode, "", "", "sheet_protected", "", "")
		w.wantRows(usersTitle, "u1|a|1", "u2|b|1", "u4|d|1", "u5|e|1")
		if p.Done != 4 || p.Failed != 1 {
			w.Errorf("progress: got %+v, want 4 done and 1 failed", p)
		}
	})
}

// A table whose sheet is gone fails its own transactions only.
func TestALostTab(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t0", "u0", "z"))
		w.processAll(q)
		order := sheets.Transaction{ID: "bad", Tasks: []sheets.Task{
			sheets.Insert("bad-1", "Orders", "id", sheets.Row{"id": "o1", "total": 1, "_version": 1}),
		}}
		w.enqueue(q, order, insert("t1", "u1", "a"))
		w.edit(func(e *sheetstest.Editor) { e.Tab(w.canonical("Orders")).Delete() })
		w.processAll(q)
		w.wantColumn(colCode, "", "sheet_not_found", "")
		w.wantRows(usersTitle, "u0|z|1", "u1|a|1")
		err := w.process().Initialize(w.Context())
		w.wantCode(err, sheets.CodeSheetNotFound)
	})
}

// The cell limit of the spreadsheet: an internal_error, retried, and at last given up.
func TestAFullSpreadsheet(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		w = newWorld(w.tb, sheetstest.Options{TB: w, MaxCells: 26_500}, sheets.MetadataFence)
		q := w.start()
		full := false
		for i := range 200 {
			_, err := q.EnqueueTasks(w.Context(), []sheets.Transaction{insert(fmt.Sprint("f", i), fmt.Sprint("k", i), "x")}, sheets.EnqueueOptions{})
			if err != nil {
				w.wantCode(err, sheets.CodeInternalError)
				full = true
				break
			}
		}
		if !full {
			t.Error("the spreadsheet never filled up")
		}
	})
}

// Somebody protects an internal sheet: every write is refused, and the error says which sheet it is.
func TestAProtectedQueueIsNamed(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "a"))
		w.edit(func(e *sheetstest.Editor) { e.Tab(queueTitle).Protect() })
		_, err := q.ProcessTaskQueueBulk(w.Context(), sheets.ProcessOptions{})
		if e := w.wantCode(err, sheets.CodeSheetProtected); e.Sheet != queueTitle {
			w.Errorf("sheet: got %q, want %q", e.Sheet, queueTitle)
		}
		w.edit(func(e *sheetstest.Editor) { e.Tab(queueTitle).Unprotect() })
		w.processAll(q)
		w.wantColumn(colStatus, "done")
	})
}

// An edit that spoils nothing is noticed by the checksum alone: it is counted once, and the queue goes on.
func TestAHarmlessEditIsCounted(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "a"))
		w.edit(func(e *sheetstest.Editor) { e.Tab(queueTitle).Set(1, colAttempts, 1) })
		quiet()
		w.processAll(q)
		w.processAll(w.process())
		w.wantColumn(colStatus, "done")
		status, err := w.process().ReadTaskQueueStatus(w.Context())
		w.must(err)
		if status.Tampered != 1 {
			w.Errorf("tampered: got %d, want 1", status.Tampered)
		}
	})
}

// A server that answers a bad request with 500 proves nothing by it. The apply is settled all the same, so that
// one transaction that can never be applied runs out of attempts and stops nobody.
func TestABadApplyIsSettledThoughTheServerDoesNotSayIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := sheetstest.Options{TB: t, Profile: sheetstest.P2}
		measured := newWorld(t, opts, sheets.MetadataFence)
		measured.start()
		for _, tab := range measured.server.Tabs(measured.id) {
			opts.MaxCells += tab.GridProperties.RowCount * tab.GridProperties.ColumnCount
		}
		opts.MaxCells += 2*19 + 2 // Two rows of the queue, and less than one of a table.
		w := newWorld(t, opts, sheets.MetadataFence)
		defer w.close()
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "a"), update("t2", "u2", "b", 1))
		for range 3 {
			w.processAll(q)
			quiet()
		}
		w.wantColumn(colStatus, "failed", "failed")
		w.wantColumn(colCode, "retry_limit_exceeded", "conflict")
		w.wantRows(usersTitle)
	})
}
