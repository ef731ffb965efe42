// Console serves a live page about lanes at work: clients book entries into a store whose view, and whose commits, can be
// broken and healed by hand, while the page shows queues, batches, latencies, and what is pending until a sweeper has
// finished it. It prints its address, and ends with an interrupt.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/goferry/goferry/examples/internal/demo"
	"github.com/goferry/goferry/ferry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type options struct {
	addr, store string
	clients     int
	skew        float64
	verbose     bool
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("console", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.addr, "addr", "127.0.0.1:0", "`address` to listen on; port 0 is any free one")
	flags.StringVar(&o.store, "store", "memory", "`where` the entries are kept: memory, or sqlite:FILE")
	flags.IntVar(&o.clients, "clients", 64, fmt.Sprintf("clients to begin with, at most %d", maxClients))
	flags.Float64Var(&o.skew, "skew", 1, fmt.Sprintf("how uneven the accounts are to begin with, from 0 to %v", maxSkew))
	flags.BoolVar(&o.verbose, "verbose", false, "log failed and slow batches, and refusals, to standard error")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	err := o.controls().check()
	if flags.NArg() > 0 {
		err = fmt.Errorf("no arguments are taken: %q", flags.Args())
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	return o, err
}

// run is main without the process. It answers 0 after an interrupt, 2 if the arguments are wrong, else 1.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	if err := listenAndServe(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func listenAndServe(ctx context.Context, o options, stdout, stderr io.Writer) error {
	disk, err := demo.OpenView(ctx, o.store)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	var log ferry.Observer
	if o.verbose {
		logger := slog.New(slog.NewTextHandler(stderr, nil))
		log = ferry.Observers(ferry.LogObserver(logger), ferry.LogSlow(logger, slow))
	}
	fmt.Fprintf(stdout, "http://%s/\n", listener.Addr())
	return newConsole(disk, o.controls(), log).serve(ctx, listener)
}
