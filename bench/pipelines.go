package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/report"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// account is the record of the pipeline section. It knows its last entries, so that a replay is answered.
type account struct {
	version, sum int
	last         [8]int
	behind       bool
}

func (a account) pending() bool { return a.behind }

type booking struct{ id, amount int }

func (b booking) ident() int { return b.id }

// book is the step. It is not inlined, on either side: steps of real records are too large for that.
//
//go:noinline
func book(a account, in booking) (account, int, bool) {
	for _, id := range a.last {
		if id == in.id {
			return a, a.sum, false
		}
	}
	a.last[in.id%len(a.last)] = in.id
	a.sum += in.amount
	a.behind = true
	return a, a.sum, true
}

// noop is a store without a store. Its calls are not inlined, as those of no store are.
type noop struct{}

type refusal struct{}

func (*refusal) Error() string    { return "refused" }
func (*refusal) NotWritten() bool { return true }

//go:noinline
func (*noop) read(context.Context, string) (account, error) { return account{version: 1}, nil }

//go:noinline
func (*noop) write(_ context.Context, _ string, read, next account) (account, error) {
	next.version = read.version + 1
	return next, nil
}

//go:noinline
func (*noop) project(context.Context, string, account) error { return nil }

const retries = 5

var (
	foldWrite = fold.New[*refusal](booking.ident, (*noop).read, book, (*noop).write,
		schedule.Exponential(time.Millisecond).And(schedule.Recurs(retries)))
	projectedWrite = projected.WholeRecord(foldWrite, account.pending, (*noop).project)
)

// foldByHand is the loop that a fold takes the place of.
func foldByHand(s *noop, ctx context.Context, key string, ins []booking) (account, []int, error) {
	outs := make([]int, len(ins))
	for pause, left := time.Millisecond, retries; ; pause, left = 2*pause, left-1 {
		record, err := foldOnce(s, ctx, key, ins, outs)
		if err == nil {
			return record, outs, nil
		}
		if _, typed := errors.AsType[*refusal](err); !typed || left == 0 || ctx.Err() != nil {
			return record, nil, fmt.Errorf("write %s: %w", key, err)
		}
		time.Sleep(pause)
	}
}

func foldOnce(s *noop, ctx context.Context, key string, ins []booking, outs []int) (account, error) {
	read, err := s.read(ctx, key)
	if err != nil {
		return read, err
	}
	next, changed := read, false
	for i, in := range ins {
		var ch bool
		next, outs[i], ch = book(next, in)
		changed = changed || ch
	}
	if !changed {
		return read, nil
	}
	return s.write(ctx, key, read, next)
}

// outcome is what a caller by hand is told.
type outcome struct {
	projected bool
	result    int
	err       error
}

// projectByHand commits, keeping a quarter of the time for the projection, and then projects.
func projectByHand(s *noop, ctx context.Context, key string, ins []booking) ([]outcome, error) {
	record, outs, err := commitByHand(s, ctx, key, ins)
	if err != nil {
		return nil, err
	}
	if record.behind {
		err = s.project(ctx, key, record)
	}
	outcomes := make([]outcome, len(outs))
	for i, out := range outs {
		outcomes[i] = outcome{err == nil, out, err}
	}
	return outcomes, nil
}

func commitByHand(s *noop, ctx context.Context, key string, ins []booking) (account, []int, error) {
	if deadline, ok := ctx.Deadline(); ok {
		within, cancel := context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/4))
		defer cancel()
		ctx = within
	}
	return foldByHand(s, ctx, key, ins)
}

// pair is a pipeline of goferry with the code by hand that does the same.
type pair struct {
	name            string
	byHand, goferry func(ctx context.Context, ins []booking) error
	deadline        bool
}

func pairs() []pair {
	s := &noop{}
	folded, whole := foldWrite.Provide(s), projectedWrite.Provide(s)
	projectedPair := pair{
		name:    "ProjectedWrite",
		byHand:  func(ctx context.Context, ins []booking) error { _, err := projectByHand(s, ctx, "k", ins); return err },
		goferry: func(ctx context.Context, ins []booking) error { _, err := whole.Call(ctx, "k", ins); return err },
	}
	underDeadline := projectedPair
	underDeadline.name, underDeadline.deadline = "ProjectedWrite with a deadline", true
	return []pair{
		{
			name:    "FoldWrite",
			byHand:  func(ctx context.Context, ins []booking) error { _, _, err := foldByHand(s, ctx, "k", ins); return err },
			goferry: func(ctx context.Context, ins []booking) error { _, err := folded.Call(ctx, "k", ins); return err },
		},
		projectedPair,
		underDeadline,
	}
}

// micros are p by hand and with goferry, each with a batch of n.
func (p pair) micros(n int) (both []micro, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	if p.deadline {
		ctx, cancel = context.WithTimeout(context.Background(), time.Hour)
	}
	ins := make([]booking, n)
	for i := range ins {
		ins[i] = booking{i + 1, 1}
	}
	must := func(do func(context.Context, []booking) error) func() {
		return func() {
			if err := do(ctx, ins); err != nil {
				panic(err) // Nothing here can fail.
			}
		}
	}
	return []micro{{"by hand", must(p.byHand)}, {"goferry", must(p.goferry)}}, cancel
}

var batchSizes = []int{1, 8, 128}

func pipelines(r *report.Report, s scale) error {
	r.Section("d. Pipelines",
		"A batch through FoldWrite and ProjectedWrite, to a store that does nothing, beside a loop by hand that retries the same failures\n"+
			"and answers the same. The step looks for a replay among the last eight entries. Under a ferry, calls have a deadline.")
	var rows [][]string
	for _, p := range pairs() {
		var slowest float64
		var extra []float64 // allocations beyond those by hand, by batch size
		for _, n := range batchSizes {
			both, stop := p.micros(n)
			got := timeAll(both, s)
			stop()
			allocs := func(t timing) float64 { return t.allocs }
			hand, ours := load.Median(got[0], allocs), load.Median(got[1], allocs)
			ratio := load.Ratio(got[1], got[0], nanoseconds)
			slowest, extra = max(slowest, ratio), append(extra, ours-hand)
			rows = append(rows, []string{
				p.name, fmt.Sprint(n),
				report.Number(load.Median(got[0], nanoseconds)), report.Number(load.Median(got[1], nanoseconds)), report.Times(ratio),
				report.Number(hand), report.Number(ours),
			})
		}
		r.AtMost(p.name+" to the loop by hand, slowest batch size", slowest, 1.25)
		perInput := (extra[len(extra)-1] - extra[0]) / float64(batchSizes[len(extra)-1]-batchSizes[0])
		// Rounded: the collector allocates a little by itself now and then.
		r.AtMost(p.name+": allocations per input beyond those by hand", max(0, math.Round(100*perInput)/100), 0)
	}
	r.Table("**Per batch**", []string{"", "batch", "ns by hand", "ns", "ratio", "allocs by hand", "allocs"}, rows)
	return nil
}
