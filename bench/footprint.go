package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/peer"
	"github.com/goferry/goferry/bench/internal/report"
	"github.com/goferry/goferry/ferry"
)

func footprint(r *report.Report, s scale) error {
	r.Section("b. Memory",
		"What is left of keys that are done with: each key was submitted once, by 64 callers, to a store without cost, and when all goroutines had\n"+
			"ended, or half a second later, heap and stacks were compared to those before, after garbage collection. The carrier is not closed.\n"+
			"The peers get a tenth of the keys; their cost per key does not depend on it.")
	var rows [][]string
	for place, p := range peer.All {
		n := s.some(1_000_000)
		if place != peer.Goferry {
			n /= 10
		}
		bytes, goroutines, err := left(p, load.Keys(n))
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		rows = append(rows, []string{p.Name, fmt.Sprint(n), report.Number(bytes), fmt.Sprint(goroutines)})
		if place == peer.Goferry {
			r.AtMost("Bytes per idle key", bytes, 1)
			r.AtMost("Goroutines of idle keys", float64(goroutines), 0)
		}
	}
	r.Table("**Keys submitted once**", []string{"", "keys", "bytes/key left", "goroutines left"}, rows)
	return burst(r, s.some(1_000_000))
}

// left answers the bytes per key and the goroutines that p keeps when nothing is to be done any more.
func left(p peer.Peer, keys []string) (bytes float64, goroutines int, err error) {
	const callers = 64
	// One round for nothing: the runtime keeps the stacks of goroutines that have ended, the callers' among them.
	rehearsal := p.Open((&load.Store{}).Call, 0)
	err = once(rehearsal, keys[:len(keys)/100], callers)
	rehearsal.Close()
	if err != nil {
		return 0, 0, err
	}
	before := measureMemory()
	carrier := p.Open((&load.Store{}).Call, 0)
	defer carrier.Close()
	if err := once(carrier, keys, callers); err != nil {
		return 0, 0, err
	}
	settle(before)
	after := measureMemory()
	runtime.KeepAlive(keys)
	return after.since(before) / float64(len(keys)), after.goroutines - before.goroutines, nil
}

// once submits an entry for each key.
func once(carrier peer.Carrier, keys []string, callers int) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var running sync.WaitGroup
	for id := range callers {
		running.Go(func() {
			for n := id; n < len(keys); n += callers {
				in := peer.Entry{Key: keys[n], Caller: id, N: n}
				out, err := carrier.Submit(ctx, in)
				if err := wrong(in, out, err); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// burst has n lanes alive at once. Peers would need a waiting goroutine per key for it.
func burst(r *report.Report, n int) error {
	keys := load.Keys(n)
	before := measureMemory()
	gate := make(chan struct{})
	lanes := ferry.PerKey(ferry.Config{MaxQueued: -1, MaxInFlight: 1}, func(e peer.Entry) string { return e.Key },
		func(_ context.Context, _ string, batch []peer.Entry) ([]peer.Entry, error) {
			<-gate
			return batch, nil
		})
	errs := make(chan error, 1)
	go func() { errs <- submitBurst(lanes, keys) }()
	for lanes.Stats().Queued < n-1 { // Seldom: it looks at every lane.
		select {
		case err := <-errs:
			return fmt.Errorf("burst: answered too early: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	full := measureMemory()
	close(gate)
	if err := <-errs; err != nil {
		return err
	}
	settle(before)
	after := measureMemory()
	runtime.KeepAlive(keys)
	if err := lanes.Close(context.Background()); err != nil {
		return err
	}
	perKey := func(m usage) string { return report.Number(m.since(before) / float64(n)) }
	r.Table(fmt.Sprintf("**A burst of %d live lanes**, each with one entry waiting, submitted by one SubmitAll. \"Full\" includes the entries, their waiters and answers.", n),
		[]string{"", "bytes/key full", "bytes/key after", "goroutines full", "goroutines after"},
		[][]string{{"goferry", perKey(full), perKey(after), fmt.Sprint(full.goroutines - before.goroutines), fmt.Sprint(after.goroutines - before.goroutines)}})
	r.AtMost("Bytes per key after a burst of live lanes", after.since(before)/float64(n), 1)
	r.AtMost("Goroutines after a burst of live lanes", float64(after.goroutines-before.goroutines), 0)
	return nil
}

func submitBurst(lanes *ferry.Ferry[string, peer.Entry, peer.Entry], keys []string) error {
	entries := make([]peer.Entry, len(keys))
	for i, key := range keys {
		entries[i].Key = key
	}
	_, errs := lanes.SubmitAll(context.Background(), entries)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// settle gives goroutines that nobody needs any more half a second to end.
func settle(before usage) {
	for range 50 {
		if runtime.NumGoroutine() <= before.goroutines {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// usage is what is in use after garbage collection.
type usage struct {
	bytes      uint64
	goroutines int
}

func measureMemory() usage {
	runtime.GC()
	runtime.GC() // Pools let go of their contents with the second.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{m.HeapAlloc + m.StackInuse, runtime.NumGoroutine()}
}

func (u usage) since(before usage) float64 { return max(float64(u.bytes)-float64(before.bytes), 0) }
