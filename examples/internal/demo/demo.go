// Package demo is the stage of the examples: clients, an outage, a sweeper, a progress line, and a closing check.
package demo

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/examples/internal/ledger"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Options are the flags of an example.
type Options struct {
	Clients, Keys, Entries int
	Outage, Think          time.Duration
	Seed                   uint64
	Input, Store           string
}

// Outcome is what a client is told of an entry.
type Outcome = projected.Outcome[*backends.Error, ledger.Answer]

// Disk is the store without its faults, for the closing check.
type Disk interface {
	Read(ctx context.Context, account string) (backends.Record[ledger.Log], error)
	Keys(ctx context.Context) iter.Seq2[string, error]
	PendingKeys(ctx context.Context) iter.Seq2[string, error]
}

// Parts are what an example brings along.
type Parts struct {
	Submit func(context.Context, ledger.Entry) (Outcome, error)
	Close  func(context.Context) error
	Sweep  func(context.Context) error
	// Break and Heal begin and end the outage.
	Break, Heal func()
	Disk        Disk
	// Check says what is wrong with the view of an account with this log.
	Check func(ctx context.Context, account string, log ledger.Log) error
}

// Main runs an example with the arguments of the program, and exits: with 0 if the closing check holds, with 1 if it
// does not, and with 2 if the arguments or lines of the input are wrong.
func Main(broken string, build func(context.Context, Options) (Parts, error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, broken, build)
	stop()
	os.Exit(code)
}

func parse(args []string, stderr io.Writer) (Options, error) {
	var o Options
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.Clients, "clients", 64, "concurrent `clients`")
	flags.IntVar(&o.Keys, "keys", 20, "accounts that the generated entries are for")
	flags.IntVar(&o.Entries, "entries", 10_000, "entries to generate")
	flags.DurationVar(&o.Outage, "outage", time.Second, "how long the view is down, from a quarter of the entries on")
	flags.DurationVar(&o.Think, "think", 10*time.Millisecond, "the longest pause of a client between two entries")
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of the entries and of the faults")
	flags.StringVar(&o.Input, "input", "", "`file` of entries as JSON lines instead of generated ones; - is standard input")
	flags.StringVar(&o.Store, "store", "memory", "`where` the entries are kept: memory, or sqlite:FILE, which a later run goes on with")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.Clients < 1 || o.Keys < 1 || o.Entries < 0 || o.Outage < 0 || o.Think < 0 || flags.NArg() > 0 {
		err := fmt.Errorf("clients and keys must be positive, nothing else negative, and no arguments be left: %q", flags.Args())
		fmt.Fprintln(stderr, err)
		return o, err
	}
	return o, nil
}

// Run is [Main] without the process.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, broken string, build func(context.Context, Options) (Parts, error)) int {
	o, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	source, total, err := open(o, stdin)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	parts, err := build(ctx, o)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	r := &run{Parts: parts, options: o, broken: broken, total: total, stderr: stderr, began: time.Now()}
	badLines := r.writeAll(ctx, source)
	err = r.finish(ctx)
	r.table(stdout)
	if err == nil {
		err = r.checkAll(ctx, stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "FAILED:", err)
		return 1
	case badLines > 0:
		fmt.Fprintf(stderr, "%d lines were left out\n", badLines)
		return 2
	}
	return 0
}

// run is one run of an example.
type run struct {
	Parts
	counts
	options Options
	broken  string
	total   int // 0 if it is not known before the input ends
	stderr  io.Writer
	began   time.Time
	sweeper sync.WaitGroup
	stop    context.CancelFunc
	healed  chan struct{}
}

// writeAll lets the clients write every entry of source, through the outage, and answers how many lines were bad.
func (r *run) writeAll(ctx context.Context, source iter.Seq2[ledger.Entry, error]) (badLines int) {
	sweeping, stop := context.WithCancel(ctx)
	r.stop, r.healed = stop, make(chan struct{})
	r.sweeper.Go(func() { _ = r.Sweep(sweeping) })
	r.sweeper.Go(func() { r.progress(sweeping) })
	entries := make(chan ledger.Entry)
	var clients sync.WaitGroup
	for c := range r.options.Clients {
		clients.Go(func() { r.client(ctx, c, entries) })
	}
	sent := 0
	var outage sync.WaitGroup
	for entry, err := range source {
		if err != nil {
			badLines++
			r.println(err)
			continue
		}
		select {
		case entries <- entry:
			r.note(entry)
		case <-ctx.Done():
		}
		if sent++; sent == r.outageAt() {
			outage.Go(func() { r.outage(ctx) })
		}
	}
	close(entries)
	clients.Wait()
	outage.Wait()
	return badLines
}

// outageAt is the entry with which the outage begins.
func (r *run) outageAt() int { return max(r.total/4, 1) }

func (r *run) outage(ctx context.Context) {
	if r.options.Outage == 0 {
		return
	}
	r.say("%s is down for %v", r.broken, r.options.Outage)
	r.Break()
	_ = schedule.Sleep(ctx, r.options.Outage)
	r.Heal()
	r.say("%s is back", r.broken)
}

// finish closes the lanes and waits until the sweeper has left nothing pending.
func (r *run) finish(ctx context.Context) error {
	defer r.sweeper.Wait()
	defer r.stop()
	if err := r.Close(ctx); err != nil {
		return err
	}
	_, err := schedule.Repeat(ctx, schedule.Spaced(20*time.Millisecond), func(ctx context.Context) (int, error) {
		for _, err := range r.Disk.PendingKeys(ctx) {
			return 0, err
		}
		return 0, errDone
	})
	if err != errDone {
		return err
	}
	return nil
}

var errDone = fmt.Errorf("nothing is pending")

// checkAll compares every view with its log, and the logs with what the clients were told.
func (r *run) checkAll(ctx context.Context, stdout io.Writer) error {
	booked := map[string]int{}
	accounts := 0
	for account, err := range r.Disk.Keys(ctx) {
		if err != nil {
			return err
		}
		record, err := r.Disk.Read(ctx, account)
		if err != nil {
			return err
		}
		if err := r.Check(ctx, account, record.Body); err != nil {
			return fmt.Errorf("account %s: %w", account, err)
		}
		for _, e := range record.Body.Entries {
			booked[e.ID]++
		}
		accounts++
	}
	for _, id := range slices.Sorted(r.acknowledged()) {
		if booked[id] != 1 {
			return fmt.Errorf("entry %s was acknowledged and is in the logs %d times", id, booked[id])
		}
	}
	fmt.Fprintf(stdout, "ok: %d accounts, each view equal to its log; %d entries, each once\n", accounts, len(booked))
	return nil
}

// Lanes is how the examples bound their ferry, and count its batches.
var Lanes = ferry.Config{Observer: ferry.Observer{BatchEnded: func(_ context.Context, b ferry.Batch, _ error) {
	batches.Add(1)
	batched.Add(int64(b.Size))
}}}
