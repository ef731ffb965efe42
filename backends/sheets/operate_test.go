package sheets_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

func TestInitializeIsIdempotentAndRacesWithItself(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		var all sync.WaitGroup
		for range 3 {
			q := w.process()
			all.Go(func() {
				if err := q.Initialize(w.Context()); err != nil {
					w.Errorf("initialize: %v", err)
				}
			})
		}
		all.Wait()
		quiet()
		w.must(w.process().Initialize(w.Context()))
		var titles, hidden []string
		for _, tab := range w.server.Tabs(w.id) {
			titles = append(titles, tab.Title)
			if tab.Hidden {
				hidden = append(hidden, tab.Title)
			}
		}
		slices.Sort(titles)
		want := []string{"Orders", "Sheet1", "Users", w.canonical("Orders"), usersTitle, fenceTitle, metaTitle, queueTitle}
		if slices.Sort(want); !slices.Equal(titles, want) {
			w.Errorf("tabs: got %q, want %q", titles, want)
		}
		if len(hidden) != 5 {
			w.Errorf("hidden: got %q, want the five internal ones", hidden)
		}
		w.enqueue(w.process(), insert("t1", "u1", "Ann"))
	})
}

func TestInitializeSurvivesInterruption(t *testing.T) {
	t.Parallel()
	for write := 1; write <= 5; write++ {
		for _, kind := range []sheetstest.Kind{sheetstest.HangApplied, sheetstest.HangUnapplied} {
			one(t, func(w world) {
				w.visibleUsers("u1|Ann|", "u2|Bob|4")
				w.diesBy(kind, write, func(ctx ctx) { _ = w.process().Initialize(ctx) })
				quiet()
				q := w.process()
				w.must(q.Initialize(w.Context()))
				w.wantRows(usersTitle, "u1|Ann|1", "u2|Bob|4")
				w.enqueue(q, insert("t1", "u3", "Cy"))
				w.processAll(q)
				w.wantRows(usersTitle, "u1|Ann|1", "u2|Bob|4", "u3|Cy|1")
			})
		}
	}
}

// visibleUsers makes the sheet that people used before there was a queue.
func (w world) visibleUsers(rows ...string) {
	w.Helper()
	w.edit(func(e *sheetstest.Editor) {
		tab := e.AddTab("Users")
		tab.SetRow(0, 0, "id", "name", "_version")
		for i, row := range rows {
			for c, text := range split(row) {
				tab.Set(1+i, c, text)
			}
		}
	})
}

// split reads "a|b|1" as cells: digits are numbers.
func split(row string) []any {
	var cells []any
	for start, i := 0, 0; i <= len(row); i++ {
		if i < len(row) && row[i] != '|' {
			continue
		}
		var n int
		switch text := row[start:i]; {
		case text == "":
			cells = append(cells, nil)
		case len(text) == 1 && text[0] >= '0' && text[0] <= '9':
			_, _ = fmt.Sscan(text, &n)
			cells = append(cells, n)
		default:
			cells = append(cells, text)
		}
		start = i + 1
	}
	return cells
}

func TestImport(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		var rows, want []string
		for i := range 2500 {
			rows = append(rows, fmt.Sprintf("u%d|name|", i))
			want = append(want, fmt.Sprintf("u%d|name|1", i))
		}
		rows[7], want[7] = "|a remark|", "" // A blank key is skipped.
		w.visibleUsers(rows...)
		q := w.start()
		w.wantRows(usersTitle, slices.DeleteFunc(want, func(row string) bool { return row == "" })...)
		// What is deleted later does not come back, and edits of the visible sheet are not imported.
		w.enqueue(q, remove("t1", "u0", "name", 1))
		w.processAll(q)
		w.edit(func(e *sheetstest.Editor) { e.Tab("Users").SetRow(3000, 0, "new", "by hand", 1) })
		w.must(w.process().Initialize(w.Context()))
		if got := len(w.server.Rows(w.id, usersTitle)); got != 2499 {
			w.Errorf("rows: got %d, want 2499", got)
		}
	})
}

func TestInitializeRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(w world)
		code sheets.Code
		row  int
	}{
		{"a key twice in the visible sheet", func(w world) { w.visibleUsers("u1|a|1", "u2|b|1", "u1|c|1") }, sheets.CodeSchemaDrift, 0},
		{"another header", func(w world) {
			w.edit(func(e *sheetstest.Editor) { e.AddTab("Users").SetRow(0, 0, "id", "_version", "name") })
		}, sheets.CodeSchemaDrift, 1},
		{"a version that is no number", func(w world) { w.visibleUsers("u1|a|x") }, sheets.CodeSchemaDrift, 2},
		{"a foreign fence sheet", func(w world) { w.edit(func(e *sheetstest.Editor) { e.AddTab(fenceTitle) }) }, sheets.CodeSystemSheetNameCollision, 0},
		{"a foreign queue sheet", func(w world) {
			w.edit(func(e *sheetstest.Editor) { e.AddTab(queueTitle).SetRow(0, 0, "todo", "who") })
		}, sheets.CodeSchemaDrift, 1},
		{"a mapping that does not fit", func(w world) {
			w.edit(func(e *sheetstest.Editor) {
				e.AddTab(metaTitle).SetRow(1, 0, "sheetMapping:Users", `{"logicalSheetName":"Other","canonicalSheetName":"x","projectionSheetName":"y"}`)
			})
		}, sheets.CodeInvalidMeta, 2},
		{"a mirror without a fence", func(w world) {
			w.edit(func(e *sheetstest.Editor) { e.AddTab(metaTitle).SetRow(1, 0, "fence", `{"number":7}`) })
		}, sheets.CodeFenceBroken, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one(t, func(w world) {
				tt.edit(w)
				e := w.wantCode(w.process().Initialize(w.Context()), tt.code)
				if e.Row != tt.row {
					w.Errorf("row: got %d, want %d (%v)", e.Row, tt.row, e)
				}
			})
		})
	}
	one(t, func(w world) {
		bad := []sheets.Table{
			{Name: "", Key: "id", Columns: []string{"id"}}, {Name: "_typed_sheets_x", Key: "id", Columns: []string{"id"}},
			{Name: "T", Key: "id", Columns: []string{"name"}}, {Name: "T", Key: "id", Columns: []string{"id", "id"}},
			{Name: "T", Key: "_version", Columns: []string{"_version"}}, {Name: "T", Key: "id", Columns: []string{"id", ""}},
		}
		for _, table := range bad {
			q := w.process(func(c *sheets.Config) { c.Tables = []sheets.Table{table} })
			w.wantCode(q.Initialize(w.Context()), sheets.CodeConfiguration)
		}
		if got := len(w.server.Tabs(w.id)); got != 1 {
			t.Errorf("tabs: got %d, want the first one only", got)
		}
		_, err := w.process().ProcessTaskQueue(w.Context(), sheets.ProcessOptions{})
		w.wantCode(err, sheets.CodeConfiguration)
	})
}

// A tab that exists is never adopted as a canonical sheet, not even under the right title.
func TestCanonicalTitlesAvoidWhatExists(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		w.edit(func(e *sheetstest.Editor) { e.AddTab(usersTitle).SetRow(0, 0, "mine") })
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "Ann"))
		w.processAll(q)
		w.wantRows(usersTitle)
		w.wantRows(usersTitle+"_1", "u1|Ann|1")
	})
}

// A queue that other writers left, with 16 or 17 columns, is read, completed and finished.
func TestLegacyQueueIsTakenOver(t *testing.T) {
	t.Parallel()
	header := []any{
		"taskId", "transactionId", "transactionIndex", "sequence", "status", "operation", "sheetName", "keyHeader", "keyValue",
		"expectedVersion", "payloadJson", "attempts", "lastErrorCode", "lastErrorMessage", "createdAt", "updatedAt", "taskFingerprint",
	}
	for _, width := range []int{16, 17} {
		each(t, func(w world) {
			w.visibleUsers("u1|Ann|1")
			w.edit(func(e *sheetstest.Editor) {
				tab := e.AddTab(queueTitle)
				tab.SetRow(0, 0, header[:width]...)
				row := func(at int, id, tx string, index, sequence int, status, key, payload string) {
					tab.SetRow(at, 0, id, tx, index, sequence, status, "insert", "Users", "id", key, nil, payload, 0, nil, nil,
						"2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00.000Z")
				}
				row(1, "d1", "td", 0, 5, "done", "u1", `{"redacted":true}`)
				row(2, "a1", "ta", 0, 6, "pending", "u2", `{"row":{"id":"u2","name":"Bob","_version":1}}`)
				row(3, "a2", "ta", 1, 7, "pending", "u3", `{"row":{"id":"u3","name":"Cy","_version":1}}`)
				row(4, "p1", "tp", 0, 8, "processing", "u1", `{"row":{"id":"u1","name":"Ann","_version":1}}`)
			})
			q := w.start()
			if got := w.queueRows(colFingerprint); got[0] != "legacy-redacted:d1" || len(got[1]) != 64 || len(got[3]) != 64 {
				w.Errorf("fingerprints: got %q", got)
			}
			w.processAll(q)
			w.wantColumn(colStatus, "done", "done", "done", "done")
			w.wantRows(usersTitle, "u1|Ann|1", "u2|Bob|1", "u3|Cy|1")
			// A replay of a redacted task is answered by its id alone; the counter goes on.
			again := sheets.Transaction{ID: "td", Tasks: []sheets.Task{sheets.Insert("d1", "Users", "id", sheets.Row{"id": "other", "_version": 1})}}
			if r := w.enqueue(q, again)[0]; r.Sequence != 5 || r.Verdict.Status != sheets.StatusDone {
				w.Errorf("replay: got %+v, want sequence 5, done", r)
			}
			if r := w.enqueue(q, insert("new", "u9", "Z"))[0]; r.Sequence != 9 {
				w.Errorf("next sequence: got %d, want 9", r.Sequence)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		want := func(state sheets.State, counts ...int) sheets.QueueStatus {
			w.Helper()
			s, err := q.ReadTaskQueueStatus(w.Context())
			w.must(err)
			if got := []int{s.Pending, s.Processing, s.Done, s.Failed}; s.State != state || !slices.Equal(got, counts) {
				w.Errorf("got %s %v, want %s %v", s.State, got, state, counts)
			}
			return s
		}
		want(sheets.StateIdle, 0, 0, 0, 0)
		before := time.Now()
		w.enqueue(q, insert("t1", "u1", "a"), insert("t2", "u2", "b"))
		if s := want(sheets.StatePending, 2, 0, 0, 0); s.OldestPending.Before(before.Truncate(time.Millisecond)) || s.Waiting != 2 {
			t.Errorf("oldest pending: got %v, want about %v", s.OldestPending, before)
		}
		w.dies(2, func(ctx ctx) { _, _ = q.ProcessTaskQueue(ctx, sheets.ProcessOptions{}) })
		want(sheets.StateRecovering, 1, 1, 0, 0)
		w.processAll(q)
		want(sheets.StateProcessed, 0, 0, 2, 0)
		w.enqueue(q, insert("t3", "u1", "again"))
		w.processAll(q)
		s := want(sheets.StateFailed, 0, 0, 2, 1)
		if len(s.RecentFailures) != 1 || s.RecentFailures[0] != (sheets.Failure{TransactionID: "t3", Sequence: 3, Code: sheets.CodeConflict}) {
			t.Errorf("failures: got %+v", s.RecentFailures)
		}
	})
}

func TestResetRunsAFailedTransactionAgain(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q, other := w.start(), w.process()
		w.enqueue(q, update("t1", "u1", "Anna", 1), insert("t2", "u1", "Ann"))
		w.processAll(q)
		w.processAll(other) // It knows t1 as failed.
		w.wantColumn(colCode, "conflict", "")
		w.must(q.Reset(w.Context(), "t1"))
		w.wantColumn(colStatus, "pending", "done")
		quiet()
		w.processAll(other)
		w.wantColumn(colStatus, "done", "done")
		w.wantRows(usersTitle, "u1|Anna|2")
		w.wantCode(q.Reset(w.Context(), "t1"), sheets.CodeInvalidTask)
		w.wantCode(q.Reset(w.Context(), "none"), sheets.CodeInvalidTask)
	})
}

func TestDiscardedTransactionsCannotBeReset(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		w.enqueue(q, update("t1", "u1", "secret", 1))
		w.wantCode(q.Discard(w.Context(), "t1"), sheets.CodeInvalidTask) // It has not failed.
		w.processAll(q)
		if got := w.queueRows(colPayload)[0]; got == `{"redacted":true}` {
			t.Fatal("a failed transaction lost its payload at once")
		}
		w.must(q.Discard(w.Context(), "t1"))
		w.wantColumn(colPayload, `{"redacted":true}`)
		w.wantColumn(colStatus, "failed")
		w.wantCode(q.Reset(w.Context(), "t1"), sheets.CodeInvalidTask)
	})
}

func TestCleanup(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q, other := w.start(), w.process()
		w.enqueue(q, insert("t1", "u1", "a"), update("t2", "u1", "b", 7), insert("t3", "u3", "c"))
		w.processAll(q)
		time.Sleep(26 * time.Hour)
		w.enqueue(other, insert("t4", "u4", "d"))
		w.processAll(other)
		w.edit(func(e *sheetstest.Editor) { e.Tab(queueTitle).Set(4, 20, "keep") })
		depends := insert("t5", "u5", "e")
		depends.DependsOn = "t3"
		w.enqueue(other, depends)
		_, err := q.Cleanup(w.Context(), sheets.CleanupOptions{MinRetention: time.Hour})
		w.wantCode(err, sheets.CodeConfiguration)
		cleaned, err := q.Cleanup(w.Context(), sheets.CleanupOptions{RedactFailedAfter: time.Hour})
		w.must(err)
		if cleaned != (sheets.Cleaned{Redacted: 1}) {
			w.Errorf("before the retention: got %+v, want 1 redacted", cleaned)
		}
		w.wantColumn(colTransaction, "t1", "t2", "t3", "t4", "t5")
		cleaned, err = q.Cleanup(w.Context(), sheets.CleanupOptions{MinRetention: 25 * time.Hour})
		w.must(err)
		if cleaned != (sheets.Cleaned{Removed: 2}) {
			w.Errorf("got %+v, want 2 removed", cleaned)
		}
		w.wantColumn(colTransaction, "t3", "t4", "t5") // t5 is open and depends on t3.
		// Sequences go on; both processes go on.
		for i, q := range []*sheets.Queue{other, q} {
			id := fmt.Sprint("t", 6+i)
			if r := w.enqueue(q, insert(id, id, "x"))[0]; r.Sequence != int64(6+i) {
				w.Errorf("sequence after a cleanup: got %d, want %d", r.Sequence, 6+i)
			}
		}
		w.processAll(other)
		w.wantColumn(colStatus, "done", "done", "done", "done", "done")
		status, err := other.ReadTaskQueueStatus(w.Context())
		w.must(err)
		if status.Holes != 0 {
			w.Errorf("holes after a cleanup: got %d, want 0", status.Holes)
		}
		time.Sleep(8 * 24 * time.Hour)
		cleaned, err = q.Cleanup(w.Context(), sheets.CleanupOptions{})
		w.must(err)
		if len(w.queueRows(0)) != 0 || cleaned.Removed != 5 {
			w.Errorf("got %+v, want all 5 removed", cleaned)
		}
		if r := w.enqueue(q, insert("t8", "t8", "x"))[0]; r.Sequence != 8 {
			w.Errorf("sequence after everything was removed: got %d, want 8", r.Sequence)
		}
	})
}

// S23: the visible sheet is written from the canonical one, never read into it.
func TestSyncProjection(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "Ann"), insert("t2", "u2", "Bob"), insert("t3", "u3", "Cy"))
		w.processAll(q)
		w.wantRows("Users")
		w.must(q.SyncProjection(w.Context(), "Users"))
		w.wantRows("Users", "u1|Ann|1", "u2|Bob|1", "u3|Cy|1")
		w.edit(func(e *sheetstest.Editor) {
			tab := e.Tab("Users")
			tab.Set(1, 1, "by hand")
			tab.Set(2, 4, "a remark")
			tab.SetRow(7, 0, "u9", "added by hand", 1)
		})
		w.enqueue(q, remove("t4", "u3", "Cy", 1))
		w.processAll(q)
		w.must(q.SyncProjection(w.Context(), "Users"))
		w.wantRows("Users", "u1|Ann|1", "u2|Bob|1||a remark")
		w.wantRows(usersTitle, "u1|Ann|1", "u2|Bob|1")
		quiet()
		w.server.ResetStats()
		w.must(q.SyncProjection(w.Context(), "Users"))
		if got := w.server.Stats()[sheetstest.OpBatchUpdate].Calls; got != 0 {
			w.Errorf("writes of a sync with nothing to do: got %d, want 0", got)
		}
		w.wantCode(q.SyncProjection(w.Context(), "Nothing"), sheets.CodeSheetNotFound)
	})
}

// S21: what is only queued is not shown.
func TestReadCanonicalShowsOnlyWhatIsApplied(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		w.enqueue(q, insert("t1", "u1", "Ann"))
		rows, err := q.ReadCanonical(w.Context(), "Users")
		w.must(err)
		if len(rows) != 0 {
			t.Errorf("got %v, want no rows", rows)
		}
		w.processAll(q)
		rows, err = q.ReadCanonical(w.Context(), "Users")
		w.must(err)
		if len(rows) != 1 || rows[0]["name"] != "Ann" || rows[0]["_version"] != 1.0 {
			t.Errorf("got %v, want Ann at version 1", rows)
		}
		_, err = q.ReadCanonical(w.Context(), "Nothing")
		w.wantCode(err, sheets.CodeSheetNotFound)
		w.edit(func(e *sheetstest.Editor) { e.Tab(usersTitle).SetRow(2, 0, "u1", "twin", 1) })
		_, err = q.ReadCanonical(w.Context(), "Users")
		w.wantCode(err, sheets.CodeSchemaDrift)
	})
}

// The sweeper finishes what a dead process left, and syncs the visible sheets.
func TestRunFinishesAndSyncs(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		q := w.start()
		receipts := w.enqueue(q, insert("t1", "u1", "Ann"))
		w.dies(2, func(ctx ctx) { _, _ = q.ProcessTaskQueue(ctx, sheets.ProcessOptions{}) })
		sweeper := w.process(func(c *sheets.Config) { c.Sync = sheets.SyncSweeper })
		ctx, stop := withCancel(w)
		var running sync.WaitGroup
		running.Go(func() { _ = sweeper.Run(ctx, nil) })
		verdict, err := receipts[0].Wait(w.Context())
		w.must(err)
		if verdict.Status != sheets.StatusDone {
			t.Errorf("verdict: got %+v, want done", verdict)
		}
		time.Sleep(2 * time.Minute)
		w.wantRows("Users", "u1|Ann|1")
		// Idle costs few reads and no writes.
		w.server.ResetStats()
		time.Sleep(time.Hour)
		stats := w.server.Stats()
		if reads := stats[sheetstest.OpGet].Calls; reads > 1200 || stats[sheetstest.OpBatchUpdate].Calls != 0 {
			t.Errorf("an idle hour: got %d reads and %d writes, want at most 1200 and 0", reads, stats[sheetstest.OpBatchUpdate].Calls)
		}
		stop()
		running.Wait()
	})
}
