package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/faults"
	"github.com/goferry/goferry/examples/internal/demo"
	"github.com/goferry/goferry/examples/internal/ledger"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// store is whatever keeps records with a view of one object each.
type store = backends.ViewStore[string, ledger.Log]

// The pipeline: commit entries to their account's log, then project its statement.
var write = projected.WholeRecord(
	fold.New[*backends.Error](ledger.Entry.Ident, store.Read, backends.Step(book), store.Commit,
		schedule.Exponential(10*time.Millisecond).Jittered().And(schedule.Recurs(3))),
	backends.Record[ledger.Log].Pending,
	store.Project,
)

// kept is how many entries an account remembers. A log that only grows would not last for a console that runs for days;
// one so short forgets an entry long after its client has stopped submitting it again.
const kept = 500

// book appends an entry to its account, and lets go of the oldest.
func book(log ledger.Log, in ledger.Entry) (ledger.Log, ledger.Answer, bool) {
	next, answer, changed := ledger.Append(log, in)
	next.Entries = next.Entries[max(len(next.Entries)-kept, 0):]
	return next, answer, changed
}

// bounds are tight, so that an outage and a few hundred clients show what they do.
var bounds = ferry.Config{MaxInFlight: 8, MaxQueued: 256, MaxQueuedPerKey: 48}

// weather is the store's usual one: slow, and now and then throttled or with an answer lost.
var weather = func() faults.Plan {
	slow := faults.Mix{Latency: faults.Latency{Min: time.Millisecond, Max: 3 * time.Millisecond}}
	rough := slow
	rough.Throttle, rough.Lost = faults.Rate{P: 0.02}, faults.Rate{P: 0.005}
	return faults.Plan{Seed: 1, Read: slow, Commit: rough, Project: rough}
}()

// slow is how long a batch takes that -verbose tells of.
const slow = 200 * time.Millisecond

// console is the whole program but its listener.
type console struct {
	disk    demo.ViewDisk // the store without its faults
	faults  *faults.Faults
	lanes   *ferry.Ferry[string, ledger.Entry, demo.Outcome]
	sweeper *projected.Sweeper[string, string]
	load    *load
	meter   *meter
	history *history

	mu    sync.Mutex
	state controls // guarded by mu
}

func newConsole(disk demo.ViewDisk, begin controls, log ferry.Observer) *console {
	c := &console{disk: disk, faults: faults.New(weather), meter: &meter{}, history: newHistory(), state: begin}
	rough := faults.View(c.faults, disk)
	cfg := bounds
	cfg.Observer = ferry.Observers(c.meter.observer(), log)
	c.lanes = ferry.PerKey(cfg, ledger.Entry.Key, write.Provide(rough).Call)
	c.load = newLoad(c.lanes.Submit, c.meter)
	c.sweeper = projected.NewSweeper(write, rough, store.PendingKeys)
	c.sweeper.Every = schedule.Spaced(200 * time.Millisecond).Jittered()
	c.sweeper.MaxBackoff = 2 * time.Second
	c.sweeper.OnVisit = c.meter.visited
	return c
}

// grace is how long requests and batches may take to end.
const grace = 5 * time.Second

// serve runs the console on listener until ctx ends, and then waits for all that it has begun.
func (c *console) serve(ctx context.Context, listener net.Listener) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{
		Handler:           c.handler(),
		ReadHeaderTimeout: grace,
		BaseContext:       func(net.Listener) context.Context { return running }, // Ends the streams of events, too.
	}
	var parts sync.WaitGroup
	var failed error
	parts.Go(func() {
		defer stop()
		failed = server.Serve(listener)
	})
	parts.Go(func() { _ = c.sweeper.Run(running) })
	parts.Go(func() { c.watch(running) })
	c.begin()
	<-running.Done()

	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(ending)
	c.load.stop()
	err = errors.Join(err, c.lanes.Close(ending))
	parts.Wait()
	if !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(failed, err)
	}
	return err
}
