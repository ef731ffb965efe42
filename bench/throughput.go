package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/peer"
	"github.com/goferry/goferry/bench/internal/report"
)

// bulkhead is goferry's default bound on calls, and that of the peer which has one.
const bulkhead = 64

// contender is a peer with its bound on calls.
type contender struct {
	peer.Peer
	inFlight int
}

// contenders answers all peers without a bound, at their places, then the two that are compared with one, and what shows
// the price of bounds that all keys have in common.
func contenders() (all []contender) {
	for _, p := range peer.All {
		all = append(all, contender{p, 0})
	}
	bounded := func(p peer.Peer, name string) contender {
		return contender{peer.Peer{Name: name, Open: p.Open}, bulkhead}
	}
	return append(all,
		bounded(peer.All[peer.Goferry], "goferry, 64 in flight"),
		bounded(peer.All[peer.Mutex], "mutex, failsafe bulkhead of 64"),
		contender{peer.Peer{Name: "16 goferries, no bound in common", Open: peer.NewSpread(16)}, 0})
}

// cell is one workload of the throughput section.
type cell struct {
	callers, keys int
	zipf          bool
	cost          time.Duration
	goal          float64 // of goferry's throughput, as a ratio to a mutex per key; 0 is none
}

func (c cell) String() string {
	draw := "uniform"
	if c.zipf {
		draw = "Zipf"
	}
	cost := "no cost"
	if c.cost > 0 {
		cost = report.Duration(c.cost)
	}
	return fmt.Sprintf("%s, %s, %d callers, %d keys", cost, draw, c.callers, c.keys)
}

func cells() (all []cell) {
	for _, c := range []struct {
		cost                  time.Duration
		uniformGoal, zipfGoal float64
	}{
		{0, 0.4, 0},
		{100 * time.Microsecond, 0, 130},
		{time.Millisecond, 1, 24},
		{5 * time.Millisecond, 0, 0},
	} {
		all = append(all, cell{256, 10_000, false, c.cost, c.uniformGoal}, cell{256, 10_000, true, c.cost, c.zipfGoal})
	}
	for _, callers := range []int{2, 2048} {
		for _, cost := range []time.Duration{0, time.Millisecond} {
			all = append(all, cell{callers, 1000, false, cost, 0}, cell{callers, 1000, true, cost, 0})
		}
	}
	// Few keys, so that batches are large.
	return append(all, cell{256, 8, false, 0, 0}, cell{256, 8, false, time.Millisecond, 0})
}

// sample is one contender's round of a cell.
type sample struct {
	load.Result
	load.Total
}

func perSecond(s sample) float64 { return s.PerSecond }
func allocs(s sample) float64    { return s.Allocs }
func batch(s sample) float64     { return s.Batch() }

func throughput(r *report.Report, s scale) error {
	all := contenders()
	for _, c := range all {
		if err := checkOrder(c, s); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	r.Section("a. Throughput and latency",
		"Callers in a closed loop: each submits an entry, waits for its answer and submits the next.\n"+
			"Zipf draws the n-th key with a probability of n^-1.2. \"No cost\" is a call that returns at once, so the figure is the\n"+
			"overhead of the contender and of the loop. Of goferry, the second row has no bound on calls, as the peers have none; all other\n"+
			"bounds are on. \"Call\" is how long a call took in truth: timers are coarse. Latencies include those entries that were still\n"+
			"out when the window ended. In a pass of its own each contender was seen to make one call per key at a time, and to carry\n"+
			"each entry once and each caller's entries in their order.")
	var found findings
	for _, c := range cells() {
		c.callers, c.keys = s.some(c.callers), s.some(c.keys)
		draws := c.draws()
		got, err := load.Turns(s.rounds, len(all), func(i int) (sample, error) { return c.run(all[i], draws, s.window) })
		if err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
		r.Table(fmt.Sprintf("**%v**", c), []string{"", "entries/s", "to mutex", "p50", "p99", "allocs/entry", "bytes/entry", "mean batch", "call"}, rows(all, got))
		found.note(r, c, got)
	}
	found.judge(r)
	return nil
}

func (c cell) draws() load.Draws {
	if c.zipf {
		return load.Zipf(load.Keys(c.keys))
	}
	return load.Uniform(load.Keys(c.keys))
}

// run is one round.
func (c cell) run(by contender, draws load.Draws, w load.Window) (sample, error) {
	store := &load.Store{Cost: c.cost}
	carrier := by.Open(store.Call, by.inFlight)
	defer carrier.Close()
	results, total, err := load.Run(store.Count, carrier.Submit, w, load.Group{Callers: c.callers, Key: draws.At})
	if err != nil {
		return sample{}, err
	}
	return sample{results[0], total}, nil
}

func rows(all []contender, got [][]sample) (rows [][]string) {
	for i, c := range all {
		mine := got[i]
		rows = append(rows, []string{
			c.Name,
			report.Number(load.Median(mine, perSecond)),
			report.Times(load.Ratio(mine, got[peer.Mutex], perSecond)),
			report.Duration(load.Median(mine, func(s sample) time.Duration { return s.P50 })),
			report.Duration(load.Median(mine, func(s sample) time.Duration { return s.P99 })),
			report.Number(load.Median(mine, allocs)),
			report.Number(load.Median(mine, func(s sample) float64 { return s.Bytes })),
			report.Number(load.Median(mine, batch)),
			report.Duration(load.Median(mine, func(s sample) time.Duration { return s.Cost() })),
		})
	}
	return rows
}

// findings are those of goferry's figures that have one goal over several cells.
type findings struct {
	largeBatch []float64 // allocations per entry, of each cell with a mean batch of 8 or more
	toBudget   []float64 // allocations to 1 per entry and 6 per batch, of each cell
}

func (f *findings) note(r *report.Report, c cell, got [][]sample) {
	perEntry, size := load.Median(got[peer.Goferry], allocs), load.Median(got[peer.Goferry], batch)
	f.toBudget = append(f.toBudget, perEntry/(1+6/size))
	if size >= 8 {
		f.largeBatch = append(f.largeBatch, perEntry)
	}
	if c.goal > 0 {
		r.AtLeast(fmt.Sprintf("Entries/s to mutex per key: %v", c), load.Ratio(got[peer.Goferry], got[peer.Mutex], perSecond), c.goal)
	}
}

func (f *findings) judge(r *report.Report) {
	if len(f.largeBatch) > 0 { // There is none if it was run with few callers.
		r.AtMost("Allocations per entry, worst cell with a mean batch of 8 or more", slices.Max(f.largeBatch), 1)
	}
	r.AtMost("Allocations to a budget of 1 per entry and 6 per batch, worst cell", slices.Max(f.toBudget), 1)
}
