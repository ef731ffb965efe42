package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goferry/goferry/examples/internal/demo"
	"github.com/goferry/goferry/examples/internal/ledger"
	"github.com/goferry/goferry/schedule"
)

const (
	accounts = 20
	think    = 40 * time.Millisecond // the longest pause of a client between two entries
)

var resubmit = schedule.Exponential(10 * time.Millisecond).Capped(time.Second).Jittered()

// load is the clients. Each books one entry after the other, and submits it again until it is answered.
type load struct {
	submit func(context.Context, ledger.Entry) (demo.Outcome, error)
	meter  *meter
	born   int64 // makes the entries of one run of the program others than those of the next
	booked atomic.Int64
	upTo   atomic.Pointer[[accounts]float64] // of every account, the share of it and those before it

	mu      sync.Mutex
	clients []context.CancelFunc // guarded by mu
	running sync.WaitGroup
}

func newLoad(submit func(context.Context, ledger.Entry) (demo.Outcome, error), m *meter) *load {
	l := &load{submit: submit, meter: m, born: time.Now().UnixMilli()}
	l.skewTo(0)
	return l
}

// skewTo gives the n-th account a share in proportion to 1/n^skew.
func (l *load) skewTo(skew float64) {
	var upTo [accounts]float64
	sum := 0.0
	for i := range upTo {
		sum += math.Pow(float64(i+1), -skew)
		upTo[i] = sum
	}
	for i := range upTo {
		upTo[i] /= sum
	}
	l.upTo.Store(&upTo)
}

// resize lets clients come or leave until there are n. Those that leave take back what they have not sent yet.
func (l *load) resize(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.clients) > n {
		last := len(l.clients) - 1
		l.clients[last]()
		l.clients = l.clients[:last]
	}
	for len(l.clients) < n {
		ctx, leave := context.WithCancel(context.Background())
		l.clients = append(l.clients, leave)
		l.running.Go(func() { l.client(ctx) })
	}
}

func (l *load) stop() {
	l.resize(0)
	l.running.Wait()
}

func (l *load) client(ctx context.Context) {
	for schedule.Sleep(ctx, rand.N(think)) == nil {
		entry := l.entry()
		began := time.Now()
		outcome, err := schedule.Retry(ctx, resubmit.Tap(l.meter.failed), func(ctx context.Context) (demo.Outcome, error) {
			return l.submit(ctx, entry)
		})
		if err == nil {
			l.meter.answered(entry.Account, outcome.Status, time.Since(began))
		}
	}
}

func (l *load) entry() ledger.Entry {
	account, _ := slices.BinarySearch(l.upTo.Load()[:accounts-1], rand.Float64())
	return ledger.Entry{
		ID:      fmt.Sprintf("%d-%d", l.born, l.booked.Add(1)),
		Account: fmt.Sprintf("account-%d", account+1),
		Cents:   rand.Int64N(20_000) - 10_000,
	}
}
