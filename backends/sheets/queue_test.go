package sheets_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
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

// Concurrent callers become one append and one apply, without a read.
func TestSubmitUnderLoadWritesTwiceAndReadsNothing(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		_, err := q.Submit(w.Context(), insert("first", "u", "warm"))
		w.must(err)
		slow := sheetstest.Fault{Delay: 500 * time.Millisecond}
		w.server.SetFaults(func(sheetstest.Call) sheetstest.Fault { return slow })
		w.server.ResetStats()
		const callers = 64
		var done sync.WaitGroup
		for i := range callers {
			done.Go(func() {
				key := fmt.Sprintf("u%02d", i)
				out, err := q.Submit(w.Context(), insert("t"+key, key, "x"))
				if err != nil || out.Result.Verdict.Status != sheets.StatusDone {
					w.Errorf("submit: got %+v, %v, want done", out, err)
				}
			})
		}
		done.Wait()
		stats := w.server.Stats()
		// The first caller goes alone, those who came meanwhile share a batch.
		if got := stats[sheetstest.OpBatchUpdate].Calls; got != 4 {
			w.Errorf("writes: got %d, want 4", got)
		}
		if got := stats[sheetstest.OpGet].Calls; got != 0 {
			w.Errorf("reads: got %d, want 0", got)
		}
		if got := len(w.server.Rows(w.id, usersTitle)); got != callers+2 {
			w.Errorf("rows: got %d, want %d", got, callers+2)
		}
	})
}

// S12, S13: a replay is answered, the same id for another task is refused.
func TestReplays(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		two := insert("t1", "u1", "Ann")
		two.Tasks = append(two.Tasks, insert("t1b", "u2", "Bob").Tasks...)
		first := w.enqueue(q, two, insert("t2", "u3", "Cy"))
		for _, q := range []*sheets.Queue{q, w.process()} {
			again := w.enqueue(q, two)
			if again[0].Sequence != first[0].Sequence {
				w.Errorf("sequence of a replay: got %d, want %d", again[0].Sequence, first[0].Sequence)
			}
			refusals := []struct {
				name string
				tx   sheets.Transaction
				code sheets.Code
			}{
				{"other payload", insert("t2", "u3", "Dee"), sheets.CodeDuplicateTask},
				{"task id in another transaction", sheets.Transaction{ID: "t9", Tasks: two.Tasks[:1]}, sheets.CodeDuplicateTask},
				{"fewer tasks", sheets.Transaction{ID: "t1", Tasks: two.Tasks[:1]}, sheets.CodeDuplicateTransaction},
				{"more tasks", sheets.Transaction{ID: "t2", Tasks: append(insert("t2", "u3", "Cy").Tasks, insert("x", "u9", "X").Tasks...)}, sheets.CodeDuplicateTransaction},
				{"other order", sheets.Transaction{ID: "t1", Tasks: []sheets.Task{two.Tasks[1], two.Tasks[0]}}, sheets.CodeDuplicateTask},
			}
			for _, tt := range refusals {
				_, err := q.EnqueueTasks(w.Context(), []sheets.Transaction{insert("new", "u8", "N"), tt.tx}, sheets.EnqueueOptions{})
				if e := w.wantCode(err, tt.code); e.Transaction != tt.tx.ID {
					w.Errorf("%s: error names %q, want %q", tt.name, e.Transaction, tt.tx.ID)
				}
			}
		}
		w.wantColumn(colTransaction, "t1", "t1", "t2") // All or nothing: "new" was never written.
		w.processAll(q)
		done := w.enqueue(q, two)
		if done[0].Verdict.Status != sheets.StatusDone || done[0].Sequence != first[0].Sequence {
			w.Errorf("replay of a done transaction: got %+v, want done", done[0])
		}
		w.wantRows(usersTitle, "u1|Ann|1", "u2|Bob|1", "u3|Cy|1")
	})
}

func TestEnqueueRefusesUnknownTablesAndDependencies(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		other := insert("t1", "u1", "Ann")
		other.Tasks[0].Sheet = "Nothing"
		_, err := q.EnqueueTasks(w.Context(), []sheets.Transaction{other}, sheets.EnqueueOptions{})
		if e := w.wantCode(err, sheets.CodeSheetNotFound); e.Sheet != "Nothing" || e.Task != "t1-1" {
			w.Errorf("error: got %v, want it to name the sheet and the task", e)
		}
		depends := insert("t1", "u1", "Ann")
		depends.DependsOn = "t0"
		_, err = q.EnqueueTasks(w.Context(), []sheets.Transaction{depends}, sheets.EnqueueOptions{})
		w.wantCode(err, sheets.CodeDependencyFailed)
		w.wantColumn(colTransaction)
		_, err = q.Submit(w.Context(), sheets.Transaction{ID: "t"})
		w.wantCode(err, sheets.CodeInvalidTask)
	})
}

// S26: a failed transaction neither rolls back nor blocks; what needed it fails by itself.
func TestFailedTransactionsBlockNobody(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t0", "u0", "Zed"))
		w.processAll(q)
		dependent := insert("t4", "u4", "Dee")
		dependent.DependsOn = "t1"
		fine := insert("t5", "u5", "Eve")
		fine.DependsOn = "t0"
		w.enqueue(q, insert("t1", "u0", "again"), insert("t2", "u2", "Bob"), update("t3", "u1", "Ann", 1), dependent, fine)
		w.processAll(q)
		w.wantColumn(colStatus, "done", "failed", "done", "failed", "failed", "done")
		w.wantColumn(colCode, "", "conflict", "", "conflict", "dependency_failed", "")
		w.wantRows(usersTitle, "u0|Zed|1", "u2|Bob|1", "u5|Eve|1")
		// S18: what has its verdict is not taken up again, though the conflict has gone away.
		late := insert("t7", "u7", "Fay") // What it depends on failed in an earlier pass.
		late.DependsOn = "t1"
		w.enqueue(q, remove("t6", "u0", "Zed", 1), late)
		w.processAll(q)
		w.processAll(w.process())
		w.wantRows(usersTitle, "u2|Bob|1", "u5|Eve|1")
		w.wantColumn(colCode, "", "conflict", "", "conflict", "dependency_failed", "", "", "dependency_failed")
	})
}

// S9, S19, S25: a group is applied whole or not at all, versions are compared.
func TestGroupsAreAppliedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		cross := sheets.Transaction{ID: "t1", Tasks: []sheets.Task{
			sheets.Insert("a", "Users", "id", sheets.Row{"id": "u1", "name": "Ann", "_version": 1}),
			sheets.Insert("b", "Orders", "id", sheets.Row{"id": 7, "total": 0, "_version": 1}),
		}}
		stale := sheets.Transaction{ID: "t2", Tasks: []sheets.Task{
			sheets.Insert("c", "Users", "id", sheets.Row{"id": "u2", "name": "Bob", "_version": 1}),
			sheets.Update("d", "Orders", "id", 2, sheets.Row{"id": 7, "total": 5, "_version": 3}),
		}}
		fits := sheets.Transaction{ID: "t3", Tasks: []sheets.Task{
			sheets.Update("e", "Orders", "id", 1, sheets.Row{"id": "7", "total": 5.5, "_version": 2}),
			sheets.Delete("f", "Users", "id", 1, sheets.Row{"id": "u1", "name": "Ann", "_version": 1}),
			sheets.Insert("g", "Users", "id", sheets.Row{"id": "u1", "name": "Ann II", "_version": 1}),
		}}
		w.enqueue(q, cross, stale, fits)
		w.processAll(q)
		w.wantColumn(colStatus, "done", "done", "failed", "failed", "done", "done", "done")
		w.wantRows(usersTitle, "u1|Ann II|1")
		w.wantRows(w.canonical("Orders"), "7|5.5|2")
	})
}

// S28, S27, S23 and the header rules.
func TestTablesThatPeopleChanged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*sheetstest.TabEditor)
		code string
		want []string
	}{
		{"an extra column is kept", func(e *sheetstest.TabEditor) { e.Set(0, 3, "note"); e.Set(1, 3, "keep") }, "", []string{"u1|Anna|2|keep"}},
		{"columns in another order", func(e *sheetstest.TabEditor) {
			e.SetRow(0, 0, "name", "id", "_version")
			e.SetRow(1, 0, "Ann", "u1", 1)
		}, "", []string{"Anna|u1|2"}},
		{"a blank row between", func(e *sheetstest.TabEditor) { e.InsertRows(1, 1) }, "", []string{"", "u1|Anna|2"}},
		{"the key twice", func(e *sheetstest.TabEditor) { e.SetRow(2, 0, "u1", "Other", 1) }, "schema_drift", []string{"u1|Ann|1", "u1|Other|1"}},
		{"a header twice", func(e *sheetstest.TabEditor) { e.Set(0, 3, "name") }, "schema_drift", []string{"u1|Ann|1"}},
		{"no version column", func(e *sheetstest.TabEditor) { e.Set(0, 2, "v") }, "schema_drift", []string{"u1|Ann|1"}},
		{"no key column", func(e *sheetstest.TabEditor) { e.Set(0, 0, "key") }, "schema_drift", []string{"u1|Ann|1"}},
		{"a field's column is gone", func(e *sheetstest.TabEditor) { e.Set(0, 1, nil) }, "schema_drift", []string{"u1|Ann|1"}},
		{"the version is text", func(e *sheetstest.TabEditor) { e.Set(1, 2, "one") }, "schema_drift", []string{"u1|Ann|one"}},
		{"the row is gone", func(e *sheetstest.TabEditor) { e.DeleteRows(1, 1) }, "conflict", nil},
		{"another version", func(e *sheetstest.TabEditor) { e.Set(1, 2, 5) }, "conflict", []string{"u1|Ann|5"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(w world) {
				q := w.start()
				w.enqueue(q, insert("t1", "u1", "Ann"))
				w.processAll(q)
				w.edit(func(e *sheetstest.Editor) { tt.edit(e.Tab(usersTitle)) })
				w.enqueue(q, update("t2", "u1", "Anna", 1))
				w.processAll(q)
				w.wantColumn(colCode, "", tt.code)
				w.wantRows(usersTitle, tt.want...)
			})
		})
	}
}

// An insert never overwrites what stands below the table.
func TestInsertsPushDownWhatPeopleWrote(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "Ann"))
		w.processAll(q)
		w.edit(func(e *sheetstest.Editor) {
			e.Tab(usersTitle).Set(2, 1, "a remark")
			e.Tab(queueTitle).Set(2, 20, "another")
		})
		w.enqueue(q, insert("t2", "u2", "Bob"), insert("t3", "u3", "Cy"))
		w.processAll(q)
		w.wantRows(usersTitle, "u1|Ann|1", "u2|Bob|1", "u3|Cy|1", "|a remark")
		w.wantColumn(colStatus, "done", "done", "done", "")
	})
}

func TestValuesComeBackAsWritten(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		values := []any{
			"=1+1", "+1", "-1", "@x", "'quoted", "007", "1-2", "2024-01-01", "TRUE", " lead", "1e5", "line\nbreak", "日本😀",
			0.0, -0.5, 1e-7, 1e21, 9007199254740991.0, true, false, nil, "#REF!",
		}
		for i, v := range values {
			tx := sheets.Transaction{ID: fmt.Sprint("t", i), Tasks: []sheets.Task{
				sheets.Insert(fmt.Sprint("i", i), "Users", "id", sheets.Row{"id": fmt.Sprint("=k", i), "name": v, "_version": 1}),
			}}
			w.enqueue(q, tx)
		}
		w.processAll(q)
		quiet()
		rows, err := q.ReadCanonical(w.Context(), "Users")
		w.must(err)
		if len(rows) != len(values) {
			w.Fatalf("rows: got %d, want %d", len(rows), len(values))
		}
		for i, row := range rows {
			if row["name"] != values[i] || row["id"] != fmt.Sprint("=k", i) {
				w.Errorf("got %#v, want %#v", row, values[i])
			}
		}
	})
}

func TestProcessIsBounded(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "a"), insert("t2", "u2", "b"), insert("t3", "u3", "c"), insert("t4", "u4", "d"))
		p, err := q.ProcessTaskQueueBulk(w.Context(), sheets.ProcessOptions{MaxTransactions: 2})
		w.must(err)
		w.wantColumn(colStatus, "done", "done", "pending", "pending")
		why, _ := errors.AsType[*sheets.WaitingError](p.Waiting["t3"])
		behind, _ := errors.AsType[*sheets.WaitingError](p.Waiting["t4"])
		if why == nil || why.Why != sheets.WaitingBudget || behind == nil || behind.Behind != "t3" {
			w.Errorf("waiting: got %v, want t3 for the budget and t4 behind t3", p.Waiting)
		}
		// S24: the runtime is looked at before each transaction.
		w.server.SetFaults(func(c sheetstest.Call) sheetstest.Fault { return sheetstest.Fault{Delay: 10 * time.Second} })
		p, err = q.ProcessTaskQueue(w.Context(), sheets.ProcessOptions{MaxRuntime: 15 * time.Second})
		w.must(err)
		w.wantColumn(colStatus, "done", "done", "done", "pending")
		w.wantColumn(colAttempts, "1", "1", "1", "0")
		if p.Done != 1 {
			w.Errorf("progress: got %+v, want 1 done", p)
		}
	})
}

// The time that ends inside a claimed transaction costs an attempt.
func TestTimeEndsAfterTheClaim(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "a"))
		slow := func(c sheetstest.Call) sheetstest.Fault {
			if c.Write {
				return sheetstest.Fault{Delay: 10 * time.Second}
			}
			return sheetstest.Fault{}
		}
		for attempt, want := range []string{"pending", "pending", "failed"} {
			w.server.SetFaults(slow)
			p, err := q.ProcessTaskQueue(w.Context(), sheets.ProcessOptions{MaxRuntime: 5 * time.Second})
			w.must(err)
			w.wantColumn(colStatus, want)
			w.wantColumn(colAttempts, fmt.Sprint(attempt+1))
			if want == "pending" {
				w.wantColumn(colCode, "processor_timeout")
				if why, _ := errors.AsType[*sheets.WaitingError](p.Waiting["t1"]); why == nil || why.Why != sheets.WaitingRetry {
					w.Errorf("waiting: got %v, want a retry", p.Waiting)
				}
			}
			quiet()
		}
		w.wantColumn(colCode, "retry_limit_exceeded")
		w.wantRows(usersTitle)
	})
}

// S25: within a batch sheets are written in byte order of their names, so that one history has one sequence of edits.
func TestSheetsAreWrittenInOrder(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		ids := map[string]string{}
		for _, tab := range w.server.Tabs(w.id) {
			ids[tab.Title] = fmt.Sprintf(`"sheetId":%d`, tab.SheetId)
		}
		users, orders := ids[usersTitle], ids[w.canonical("Orders")]
		w.server.SetFaults(func(c sheetstest.Call) sheetstest.Fault {
			body := string(c.Body)
			if i, j := strings.Index(body, orders), strings.Index(body, users); i >= 0 && j >= 0 && j < i {
				t.Errorf("Users is written before Orders")
			}
			return sheetstest.Fault{}
		})
		for i := range 12 {
			key := fmt.Sprint("k", i)
			tx := insert("t"+key, key, "x")
			tx.Tasks = append(tx.Tasks, sheets.Insert("o"+key, "Orders", "id", sheets.Row{"id": key, "_version": 1}))
			w.enqueue(q, tx)
			w.processAll(q)
		}
		w.wantColumn(colStatus, slices.Repeat([]string{"done"}, 24)...)
	})
}
