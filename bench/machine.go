package main

import (
	"context"
	"sync"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/peer"
	"github.com/goferry/goferry/bench/internal/report"
)

// machine measures what the others are made of.
func machine(r *report.Report, s scale) error {
	r.Section("The machine",
		"What nobody can do without who hands an entry to another goroutine and waits for its answer, and how far a lone caller's Submit to a store\n"+
			"without cost is from it: the way there and back, without contention and without anybody to share a batch with.")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all, stop := primitives()
	defer stop()
	goferry := len(all) + peer.Goferry
	for _, p := range peer.All {
		carrier := p.Open((&load.Store{}).Call, 0)
		defer carrier.Close()
		all = append(all, micro{"Submit: " + p.Name, func() {
			if _, err := carrier.Submit(ctx, peer.Entry{Key: "k"}); err != nil {
				panic(err) // Nothing here can fail.
			}
		}})
	}
	got := timeAll(all, s)
	var rows [][]string
	for i, m := range all {
		rows = append(rows, []string{
			m.name,
			report.Duration(time.Duration(load.Median(got[i], nanoseconds))),
			report.Times(load.Ratio(got[i], got[0], nanoseconds)),
			report.Number(load.Median(got[i], func(t timing) float64 { return t.allocs })),
		})
		if i == goferry {
			r.Told("Submit of a lone caller to a round trip over channels", load.Ratio(got[i], got[0], nanoseconds))
		}
	}
	r.Table("**One at a time**", []string{"", "time", "to a round trip", "allocs"}, rows)
	return nil
}

// primitives are a round trip to another goroutine in two ways, the start of one, and the shortest sleeps.
func primitives() (all []micro, stop func()) {
	there, back := make(chan int), make(chan int)
	var ours, theirs sync.Mutex
	ours.Lock()
	theirs.Lock()
	over := false // written before theirs is unlocked for the last time
	var partners sync.WaitGroup
	partners.Go(func() {
		for v := range there {
			back <- v
		}
	})
	partners.Go(func() {
		for {
			theirs.Lock()
			if over {
				return
			}
			ours.Unlock()
		}
	})
	all = []micro{
		{"round trip over two channels", func() { there <- 1; <-back }},
		{"round trip over two mutexes", func() { theirs.Unlock(); ours.Lock() }},
		{"start of a goroutine, and its end", func() { var one sync.WaitGroup; one.Go(func() {}); one.Wait() }},
		{"sleep of 100 µs", func() { time.Sleep(100 * time.Microsecond) }},
		{"sleep of 1 ms", func() { time.Sleep(time.Millisecond) }},
	}
	return all, func() {
		close(there)
		over = true
		theirs.Unlock()
		partners.Wait()
	}
}
