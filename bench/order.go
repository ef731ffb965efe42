package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/peer"
)

// checkOrder sees to it that a contender does what the others are measured for. It is a pass of its own, since looking is not free.
func checkOrder(c contender, s scale) error {
	const each = 100
	check := &orderCheck{keys: map[string]*keyCheck{}}
	carrier := c.Open(check.call, c.inFlight)
	draws := load.Zipf(load.Keys(s.some(100)))
	var (
		callers sync.WaitGroup
		errs    = make([]error, s.some(64))
	)
	for id := range errs {
		callers.Go(func() { errs[id] = submitAll(carrier, draws, id, each) })
	}
	callers.Wait()
	carrier.Close()
	return errors.Join(errors.Join(errs...), check.finish(len(errs)*each))
}

// submitAll submits n entries of a caller. A carrier that takes many at once has to keep them in their order.
func submitAll(carrier peer.Carrier, draws load.Draws, caller, n int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	entries := make([]peer.Entry, n)
	for i := range entries {
		entries[i] = peer.Entry{Key: draws.At(caller, i), Caller: caller, N: i}
	}
	if many, ok := carrier.(interface {
		SubmitAll(context.Context, []peer.Entry) ([]peer.Entry, []error)
	}); ok {
		outs, errs := many.SubmitAll(ctx, entries)
		for i, out := range outs {
			if err := wrong(entries[i], out, errs[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, in := range entries {
		out, err := carrier.Submit(ctx, in)
		if err := wrong(in, out, err); err != nil {
			return err
		}
	}
	return nil
}

func wrong(in, out peer.Entry, err error) error {
	if err == nil && out != in.Answer() {
		return fmt.Errorf("got the answer %+v to %+v", out, in)
	}
	return err
}

// orderCheck is a store that looks at what comes.
type orderCheck struct {
	mu      sync.Mutex
	keys    map[string]*keyCheck // guarded by mu
	entries int                  // guarded by mu
	errs    []error              // guarded by mu
}

type keyCheck struct {
	busy bool
	last map[int]int // the number of the last entry of each caller
}

func (o *orderCheck) call(_ context.Context, key string, batch []peer.Entry) ([]peer.Entry, error) {
	o.enter(key, batch)
	defer o.leave(key)
	for i := range batch {
		batch[i] = batch[i].Answer()
	}
	return batch, nil
}

func (o *orderCheck) enter(key string, batch []peer.Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := o.keys[key]
	if k == nil {
		k = &keyCheck{last: map[int]int{}}
		o.keys[key] = k
	}
	if k.busy {
		o.errs = append(o.errs, fmt.Errorf("two calls of %s at a time", key))
	}
	k.busy = true
	o.entries += len(batch)
	for _, in := range batch {
		last, known := k.last[in.Caller]
		if in.Key != key || known && in.N <= last {
			o.errs = append(o.errs, fmt.Errorf("entry %d of caller %d for %s came to %s after its entry %d", in.N, in.Caller, in.Key, key, last))
		}
		k.last[in.Caller] = in.N
	}
}

func (o *orderCheck) leave(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keys[key].busy = false
}

func (o *orderCheck) finish(want int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.entries != want {
		o.errs = append(o.errs, fmt.Errorf("got %d entries, want %d", o.entries, want))
	}
	return errors.Join(o.errs...)
}
