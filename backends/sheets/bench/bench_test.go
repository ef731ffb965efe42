// Package bench_test measures what batching saves: API calls, and the seconds that a quota of 60 reads and 60 writes a
// minute makes of them. Time is virtual and a call takes 300 ms, so that the figures are the same on every machine.
//
//	go test ./bench -v
//	go test ./bench -v -callers 1,64,1024
package bench_test

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
	"github.com/goferry/goferry/ferry"
)

var callers = flag.String("callers", "1,64", "how many callers write one transaction each, one after the other")

// figures are what one scenario cost.
type figures struct {
	reads, writes int
	seconds       float64
	bytes         int64
}

// book is a spreadsheet with a warm process.
type book struct {
	*testing.T
	server *sheetstest.Server
	queue  *sheets.Queue
}

// inBubble runs a scenario in a fresh spreadsheet, and measures the part that it passes to the function it is given.
func inBubble(t *testing.T, scenario func(b book, measure func(func()))) figures {
	t.Helper()
	var got figures
	synctest.Test(t, func(t *testing.T) {
		server := sheetstest.New(sheetstest.Options{TB: t, Quota: true})
		service, err := server.Service(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		queue := sheets.Open(service, server.Create("book"), sheets.Config{
			Tables: []sheets.Table{{Name: "Orders", Key: "id", Columns: []string{"id", "total"}}},
			Ferry:  ferry.Config{MaxBatch: 1024, BatchTimeout: time.Hour},
		})
		defer func() { _ = queue.Close(context.Background()) }()
		b := book{t, server, queue}
		b.must(queue.Initialize(t.Context()))
		b.enqueue(order("warm"))
		b.process(0)
		time.Sleep(10 * time.Minute)
		server.SetFaults(func(sheetstest.Call) sheetstest.Fault { return sheetstest.Fault{Delay: 300 * time.Millisecond} })
		scenario(b, func(f func()) {
			server.ResetStats()
			start := time.Now()
			f()
			got.seconds += time.Since(start).Seconds()
			for op, stat := range server.Stats() {
				got.bytes += stat.Sent + stat.Received
				if op == sheetstest.OpBatchUpdate {
					got.writes += stat.Calls
				} else {
					got.reads += stat.Calls
				}
			}
		})
	})
	return got
}

func (b book) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func order(id string) sheets.Transaction {
	return sheets.Transaction{ID: id, Tasks: []sheets.Task{
		sheets.Insert(id+"/1", "Orders", "id", sheets.Row{"id": id, "total": 12.5, "_version": 1}),
	}}
}

func orders(n int) []sheets.Transaction {
	txs := make([]sheets.Transaction, n)
	for i := range txs {
		txs[i] = order(fmt.Sprintf("o%04d", i))
	}
	return txs
}

func (b book) enqueue(txs ...sheets.Transaction) {
	b.Helper()
	_, err := b.queue.EnqueueTasks(b.Context(), txs, sheets.EnqueueOptions{})
	b.must(err)
}

func (b book) process(limit int) {
	b.Helper()
	_, err := b.queue.ProcessTaskQueueBulk(b.Context(), sheets.ProcessOptions{MaxTransactions: limit})
	b.must(err)
}

// submit lets every transaction have a caller of its own.
func (b book) submit(txs []sheets.Transaction) {
	var all sync.WaitGroup
	for _, tx := range txs {
		all.Go(func() {
			out, err := b.queue.Submit(b.Context(), tx)
			if err != nil || out.Result.Verdict.Status != sheets.StatusDone {
				b.Errorf("submit: got %v, %v, want done", out.Result.Verdict, err)
			}
		})
	}
	all.Wait()
}

// scenarios are measured for each number of callers. The last two are what a program without the lanes does.
var scenarios = []struct {
	name string
	run  func(b book, txs []sheets.Transaction, measure func(func()))
}{
	{"enqueue only, together", func(b book, txs []sheets.Transaction, measure func(func())) {
		measure(func() { b.enqueue(txs...) })
	}},
	{"process only, in bulk", func(b book, txs []sheets.Transaction, measure func(func())) {
		b.enqueue(txs...)
		measure(func() { b.process(0) })
	}},
	{"submit, cold", func(b book, txs []sheets.Transaction, measure func(func())) {
		measure(func() { b.submit(txs) })
	}},
	{"submit, steady state", func(b book, txs []sheets.Transaction, measure func(func())) {
		b.submit([]sheets.Transaction{order("before")})
		measure(func() { b.submit(txs) })
	}},
	{"one append per write", func(b book, txs []sheets.Transaction, measure func(func())) {
		measure(func() {
			for _, tx := range txs {
				b.enqueue(tx)
			}
			b.process(0)
		})
	}},
	{"one append and one process per write", func(b book, txs []sheets.Transaction, measure func(func())) {
		measure(func() {
			for _, tx := range txs {
				b.enqueue(tx)
				b.process(0)
			}
		})
	}},
}

func TestReport(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	fmt.Fprintln(&table, "| callers | scenario | reads | writes | calls per task | virtual s | ms per task | KB |")
	fmt.Fprintln(&table, "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
	for text := range strings.SplitSeq(*callers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("-callers: %q is not a positive number", text)
		}
		for _, s := range scenarios {
			got := inBubble(t, func(b book, measure func(func())) { s.run(b, orders(n), measure) })
			fmt.Fprintf(&table, "| %d | %s | %d | %d | %.3f | %.1f | %.0f | %d |\n", n, s.name, got.reads, got.writes,
				float64(got.reads+got.writes)/float64(n), got.seconds, 1000*got.seconds/float64(n), got.bytes/1024)
			// The first caller may go alone: two batches of two writes, and no read.
			if s.name == "submit, steady state" && (got.writes > 4 || got.reads > 0) {
				t.Errorf("%d callers, %s: got %d writes and %d reads, want at most 4 and 0", n, s.name, got.writes, got.reads)
			}
		}
	}
	t.Log("\n" + table.String())
}
