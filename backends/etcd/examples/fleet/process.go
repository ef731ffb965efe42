package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/projected"
)

const (
	accounts = 6
	clients  = 8 // Of each process.
)

type outcome = projected.Outcome[*backends.Error, int]

// ack is a line that a process prints when an entry was answered, and not before.
type ack struct {
	Account, ID string
	Status      string
}

// process serves clients until its input ends. No account has a home: whichever process a client reaches writes to it, so the
// lanes of three processes meet in every account, and the fence decides.
func process(ctx context.Context, name string, endpoints []string, in io.Reader, out io.Writer) error {
	db, s, err := openStore(ctx, endpoints)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	lanes := ferry.PerKey(ferry.Config{}, entry.account, write.Provide(s).Call)
	p := &printer{to: bufio.NewWriter(out)}
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for n := 0; serving.Err() == nil; n++ {
				submit(ctx, lanes, p, entry{
					ID:      fmt.Sprintf("%s-%d-%d", name, c, n),
					Account: fmt.Sprint("account-", rand.IntN(accounts)),
					Cents:   1 + rand.IntN(10_000),
				})
			}
		})
	}
	_, err = io.Copy(io.Discard, in)
	stop()
	all.Wait()
	return errors.Join(err, lanes.Close(ctx), p.err, db.Close())
}

// submit asks with the same identity until it is answered. It may have been booked before the answer was lost, and is not
// booked again.
func submit(ctx context.Context, lanes *ferry.Ferry[string, entry, outcome], p *printer, e entry) {
	for ctx.Err() == nil {
		answer, err := lanes.Submit(ctx, e)
		if err == nil {
			p.print(ack{Account: e.Account, ID: e.ID, Status: answer.Status.String()})
			return
		}
	}
}

// printer writes whole lines, for any number of clients.
type printer struct {
	mu  sync.Mutex
	to  *bufio.Writer
	err error // guarded by mu; the first
}

func (p *printer) print(a ack) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.to, a.Account, a.ID, a.Status)
	if err := p.to.Flush(); p.err == nil {
		p.err = err
	}
}
