// Long histories in one goroutine, which a race detector would only slow down. Processor time is asked of the system.

//go:build !race && unix

package sheets_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

// history writes n transactions into the queue that are done: what a year of use leaves until somebody cleans up.
func (w world) history(n int) {
	w.Helper()
	done := func(i int) []any {
		id := fmt.Sprintf("old-%06d", i)
		return []any{
			id + "-1", id, 0, i + 1, "done", "insert", "Users", "id", "u1", nil, `{"redacted":true}`, 1, nil, nil,
			"1999-12-01T00:00:00.000Z", "1999-12-01T00:00:00.000Z", fmt.Sprintf("%064d", i), 1,
		}
	}
	w.edit(func(e *sheetstest.Editor) {
		tab := e.Tab(queueTitle)
		for i := range n {
			tab.SetRow(1+i, 0, done(i)...)
		}
	})
}

// A warm pass reads as much with 50,000 done rows as with 10.
func TestWarmPassesReadTheSameWhateverIsDone(t *testing.T) {
	t.Parallel()
	bytes, cpu := map[int]int64{}, map[int]time.Duration{}
	for _, n := range []int{10, 1_000, 50_000} {
		one(t, func(w world) {
			w.start()
			w.history(n)
			q := w.process()
			submit := func(i int) {
				id := fmt.Sprint("new", i)
				_, err := q.EnqueueTasks(w.Context(), []sheets.Transaction{insert(id, id, "x")}, sheets.EnqueueOptions{})
				w.must(err)
				quiet()
				w.processAll(q)
				quiet()
			}
			submit(0) // Cold.
			w.server.ResetStats()
			before := processorTime(t)
			submit(1)
			cpu[n] = processorTime(t) - before
			for _, stat := range w.server.Stats() {
				bytes[n] += stat.Received
			}
		})
	}
	t.Logf("a warm pass over so many done rows reads %v bytes, and takes, with the fake service, %v if no other test runs", bytes, cpu)
	for n, got := range bytes {
		if low := bytes[10]; got < low*9/10 || got > low*11/10 {
			t.Errorf("bytes read by a warm pass over %d done rows: got %d, want within 10 %% of %d", n, got, low)
		}
	}
}

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// More than a thousand commits take the fence to its next sheet without anybody noticing.
func TestManyCommitsRollTheFence(t *testing.T) {
	t.Parallel()
	one(t, func(w world) {
		a, b := w.start(), w.process()
		const rounds = 1050
		for i := range rounds {
			id := fmt.Sprintf("t%04d", i)
			if _, err := a.EnqueueTasks(w.Context(), []sheets.Transaction{insert(id, id, "x")}, sheets.EnqueueOptions{}); err != nil {
				w.Fatal(err)
			}
			if i%100 == 0 {
				w.processAll(b)
				time.Sleep(3 * time.Second)
			}
		}
		w.processAll(b)
		if got := len(w.server.Rows(w.id, usersTitle)); got != rounds+1 {
			t.Errorf("rows: got %d, want %d", got, rounds+1)
		}
		if w.server.Rows(w.id, "_typed_sheets_fence_prev") == nil {
			t.Error("the fence did not move")
		}
	})
}
