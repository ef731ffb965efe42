// Command sheetsqueue lets three processes write orders into one spreadsheet, while somebody edits the visible sheet,
// and then checks that nothing was lost. It exits with 1 if something was.
//
// By default the spreadsheet is an in-memory one behind a local socket that loses answers now and then. With -spreadsheet it
// is a real one, reached with application-default credentials:
//
//	go run ./examples/sheetsqueue
//	go run ./examples/sheetsqueue -spreadsheet 1AbC... -orders 5
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/api/option"
	gsheets "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

func main() {
	spreadsheet := flag.String("spreadsheet", "", "the id of a real spreadsheet; the default is an in-memory one")
	orders := flag.Int("orders", 40, "orders that each process writes")
	timeout := flag.Duration("timeout", 10*time.Minute, "when to give up")
	flag.Parse()
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	if err := run(ctx, *spreadsheet, *orders); err != nil {
		log.Print(err)
		os.Exit(1)
	}
}

func run(ctx context.Context, id string, orders int) error {
	place, err := open(ctx, id)
	if err != nil {
		return err
	}
	defer place.shut()
	first, err := place.process(ctx)
	if err != nil {
		return err
	}
	if err := first.Initialize(ctx); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	fmt.Println("initialised; three processes write", orders, "orders each")
	// Ids are unique to the run, so that it can be repeated on one spreadsheet.
	w := &writers{run: time.Now().UTC().Format("20060102-150405"), orders: orders}
	place.disturb()
	if err := w.write(ctx, place); err != nil {
		return err
	}
	return w.check(ctx, first)
}

// place is where the spreadsheet is.
type place struct {
	id      string
	options []option.ClientOption
	disturb func() // starts the trouble
	shut    func()
}

// open answers the real spreadsheet, or makes one on a server that loses every seventh answer, and that a person edits.
func open(ctx context.Context, id string) (*place, error) {
	if id != "" {
		return &place{id: id, disturb: func() {}, shut: func() {}}, nil
	}
	server := sheetstest.New(sheetstest.Options{})
	url, shut, err := server.Listen()
	if err != nil {
		return nil, err
	}
	p := &place{id: server.Create("Shop"), options: []option.ClientOption{option.WithEndpoint(url), option.WithoutAuthentication()}}
	person, stop := context.WithCancel(ctx)
	var editing sync.WaitGroup
	p.disturb = func() {
		server.SetFaults(func(c sheetstest.Call) sheetstest.Fault {
			if c.Write && c.N%7 == 0 {
				return sheetstest.Fault{Kind: sheetstest.CutAnswer}
			}
			return sheetstest.Fault{}
		})
		editing.Go(func() { scribble(person, server, p.id) })
	}
	p.shut = func() {
		stop()
		editing.Wait()
		shut()
	}
	return p, nil
}

// scribble is somebody who cannot leave the visible sheet alone.
func scribble(ctx context.Context, server *sheetstest.Server, id string) {
	for i := 0; ctx.Err() == nil; i++ {
		err := server.Edit(id, func(e *sheetstest.Editor) { e.Tab("Orders").SetRow(1+i%9, 0, fmt.Sprint("by hand ", i), "oops", 99) })
		if err != nil {
			log.Print("editing: ", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// process opens the queue as another process would: with its own client and no shared memory.
func (p *place) process(ctx context.Context) (*sheets.Queue, error) {
	service, err := gsheets.NewService(ctx, p.options...)
	if err != nil {
		return nil, fmt.Errorf("no client; are there application-default credentials? %w", err)
	}
	return sheets.Open(service, p.id, sheets.Config{Tables: []sheets.Table{
		{Name: "Orders", Key: "id", Columns: []string{"id", "total"}},
	}}), nil
}

// writers count what three processes have done.
type writers struct {
	run      string
	orders   int
	answered atomic.Int64 // transactions with a receipt
	verdicts atomic.Int64 // of those, answered with their verdict
	resent   atomic.Int64 // submitted again after an unknown outcome
}

func (w *writers) write(ctx context.Context, p *place) error {
	var all sync.WaitGroup
	errs := make(chan error, 3*w.orders)
	for n := range 3 {
		q, err := p.process(ctx)
		if err != nil {
			return err
		}
		sweeping, stop := context.WithCancel(ctx)
		all.Go(func() { _ = q.Run(sweeping, nil) })
		all.Go(func() {
			defer stop()
			var callers sync.WaitGroup
			for i := range w.orders {
				callers.Go(func() {
					if err := w.order(ctx, q, fmt.Sprintf("%s/%d/%03d", w.run, n, i)); err != nil {
						errs <- err
					}
				})
			}
			callers.Wait()
			if err := q.Close(ctx); err != nil {
				errs <- err
			}
			fmt.Printf("process %d is through; %d orders are answered, %d of them with their verdict\n", n+1, w.answered.Load(), w.verdicts.Load())
		})
	}
	all.Wait()
	close(errs)
	var failed []error
	for err := range errs {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// order submits one order until it is answered. The ids are the same each time: that is what makes it safe.
func (w *writers) order(ctx context.Context, q *sheets.Queue, id string) error {
	tx := sheets.Transaction{ID: id, Tasks: []sheets.Task{
		sheets.Insert(id, "Orders", "id", sheets.Row{"id": id, "total": len(id), "_version": 1}),
	}}
	for {
		out, err := q.Submit(ctx, tx)
		if err == nil {
			w.answered.Add(1)
			if out.Result.Verdict.Final() {
				w.verdicts.Add(1)
			}
			return nil
		}
		if refused, ok := errors.AsType[*sheets.Error](err); ok && refused.NotWritten() && refused.Code != sheets.CodeConflict || ctx.Err() != nil {
			return fmt.Errorf("order %s: %w", id, err)
		}
		w.resent.Add(1)
	}
}

// check finishes what is left, syncs the visible sheet, and counts.
func (w *writers) check(ctx context.Context, q *sheets.Queue) error {
	for {
		left, err := q.Resume(ctx)
		if err != nil {
			return fmt.Errorf("resume: %w", err)
		}
		if len(left) == 0 {
			break
		}
		fmt.Println(len(left), "transactions wait for their verdict")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Second):
		}
	}
	if err := q.SyncProjection(ctx, "Orders"); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	rows, err := q.ReadCanonical(ctx, "Orders")
	if err != nil {
		return err
	}
	seen := map[any]int{}
	for _, row := range rows {
		seen[row["id"]]++
	}
	lost := 0
	for n := range 3 {
		for i := range w.orders {
			if seen[fmt.Sprintf("%s/%d/%03d", w.run, n, i)] != 1 {
				lost++
			}
		}
	}
	status, err := q.ReadTaskQueueStatus(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d orders written, %d resubmitted, %d lost or doubled; the queue is %s with %d done and %d failed\n",
		w.answered.Load(), w.resent.Load(), lost, status.State, status.Done, status.Failed)
	if lost > 0 || int(w.answered.Load()) != 3*w.orders {
		return errors.New("something was lost")
	}
	return nil
}
