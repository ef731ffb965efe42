package sheets_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

const (
	queueTitle = "_typed_sheets_task_queue"
	metaTitle  = "_typed_sheets_meta"
	fenceTitle = "_typed_sheets_fence"
	usersTitle = "_typed_sheets_data_Users_6b0cc904d081"
)

var users = sheets.Table{Name: "Users", Key: "id", Columns: []string{"id", "name", "_version"}}
var orders = sheets.Table{Name: "Orders", Key: "id", Columns: []string{"id", "total"}}

// world is one spreadsheet on a server, and the processes that work on it.
type world struct {
	tb
	server *sheetstest.Server
	id     string
	fence  sheets.FenceKind
	opened *[]*sheets.Queue
}

// each runs test in a bubble under every profile, and with both fences.
func each(t *testing.T, test func(w world)) {
	t.Helper()
	tests := []struct {
		name    string
		profile sheetstest.Profile
		fence   sheets.FenceKind
	}{
		{"P1", sheetstest.P1, sheets.MetadataFence},
		{"P2", sheetstest.P2, sheets.MetadataFence},
		{"P1 swap", sheetstest.P1, sheets.SwapFence},
		{"P3 swap", sheetstest.P3, sheets.SwapFence},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sheetstest.Options{TB: t, Profile: tt.profile}, tt.fence)
				defer w.close()
				test(w)
			})
		})
	}
}

// one runs test in a bubble under the strict profile.
func one(t *testing.T, test func(w world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sheetstest.Options{TB: t}, sheets.MetadataFence)
		defer w.close()
		test(w)
	})
}

// tb is the part of a test, or of a property, that the helpers use.
type tb interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

func newWorld(t tb, opts sheetstest.Options, fence sheets.FenceKind) world {
	server := sheetstest.New(opts)
	return world{tb: t, server: server, id: server.Create("book"), fence: fence, opened: new([]*sheets.Queue)}
}

// close ends the processes: a bubble must end without goroutines.
func (w world) close() {
	w.server.SetFaults(nil)
	for _, q := range *w.opened {
		_ = q.Close(context.Background())
	}
}

// process opens the queue as a new process does.
func (w world) process(change ...func(*sheets.Config)) *sheets.Queue {
	w.Helper()
	service, err := w.server.Service(context.Background())
	w.must(err)
	config := sheets.Config{Tables: []sheets.Table{users, orders}, Fence: w.fence}
	for _, f := range change {
		f(&config)
	}
	q := sheets.Open(service, w.id, config)
	*w.opened = append(*w.opened, q)
	return q
}

// start opens a queue in an initialised spreadsheet.
func (w world) start() *sheets.Queue {
	w.Helper()
	q := w.process()
	w.must(q.Initialize(w.Context()))
	return q
}

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("got %v, want no error", err)
	}
}

func (w world) wantCode(err error, want sheets.Code) *sheets.Error {
	w.Helper()
	e, ok := errors.AsType[*sheets.Error](err)
	if !ok || e.Code != want {
		w.Fatalf("error: got %v, want %s", err, want)
	}
	return e
}

func (w world) edit(f func(*sheetstest.Editor)) {
	w.Helper()
	w.must(w.server.Edit(w.id, f))
	time.Sleep(5 * time.Second) // Until no read is stale and no answer is taken for one.
}

// quiet lets so much time pass that nothing is cached, stale or leased.
func quiet() { time.Sleep(10 * time.Minute) }

func insert(tx, key, name string) sheets.Transaction {
	return sheets.Transaction{ID: tx, Tasks: []sheets.Task{
		sheets.Insert(tx+"-1", "Users", "id", sheets.Row{"id": key, "name": name, "_version": 1}),
	}}
}

func update(tx, key, name string, expected float64) sheets.Transaction {
	return sheets.Transaction{ID: tx, Tasks: []sheets.Task{
		sheets.Update(tx+"-1", "Users", "id", expected, sheets.Row{"id": key, "name": name, "_version": expected + 1}),
	}}
}

func remove(tx, key, name string, expected float64) sheets.Transaction {
	return sheets.Transaction{ID: tx, Tasks: []sheets.Task{
		sheets.Delete(tx+"-1", "Users", "id", expected, sheets.Row{"id": key, "name": name, "_version": expected}),
	}}
}

// wantRows compares the data rows of a sheet, written as "a|b|c".
func (w world) wantRows(title string, want ...string) {
	w.Helper()
	var got []string
	for _, row := range w.server.Rows(w.id, title)[1:] {
		got = append(got, line(row))
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s: got %q, want %q", title, got, want)
	}
}

func line(row []any) string {
	text := ""
	for i, v := range row {
		if i > 0 {
			text += "|"
		}
		if v != nil {
			text += fmt.Sprint(v)
		}
	}
	return text
}

// queueRows answers one column of the queue.
func (w world) queueRows(column int) []string {
	var values []string
	for _, row := range w.server.Rows(w.id, queueTitle)[1:] {
		text := ""
		if column < len(row) && row[column] != nil {
			text = fmt.Sprint(row[column])
		}
		values = append(values, text)
	}
	return values
}

// The columns that tests look at and edit.
const (
	colTransaction = 1
	colSequence    = 3
	colStatus      = 4
	colKey         = 8
	colPayload     = 10
	colAttempts    = 11
	colCode        = 12
	colMessage     = 13
	colUpdated     = 15
	colFingerprint = 16
	colSize        = 17
)

func (w world) wantColumn(column int, want ...string) {
	w.Helper()
	if got := w.queueRows(column); !slices.Equal(got, want) {
		w.Errorf("queue column %d: got %q, want %q", column, got, want)
	}
}

func (w world) enqueue(q *sheets.Queue, txs ...sheets.Transaction) []sheets.Receipt {
	w.Helper()
	receipts, err := q.EnqueueTasks(w.Context(), txs, sheets.EnqueueOptions{})
	w.must(err)
	return receipts
}

func (w world) processAll(q *sheets.Queue) sheets.Progress {
	w.Helper()
	p, err := q.ProcessTaskQueueBulk(w.Context(), sheets.ProcessOptions{})
	w.must(err)
	return p
}

// canonical answers the title of a table's canonical sheet.
func (w world) canonical(name string) string {
	w.Helper()
	for _, tab := range w.server.Tabs(w.id) {
		if strings.HasPrefix(tab.Title, "_typed_sheets_data_"+name+"_") {
			return tab.Title
		}
	}
	w.Fatalf("no canonical sheet of %s", name)
	return ""
}

type ctx = context.Context

func withCancel(w world) (context.Context, func()) {
	return context.WithCancel(w.Context())
}
