package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/faults"
	"github.com/goferry/goferry/backends/memory"
	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/peer"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// tally is the body of a record, and its view: how many entries were written. It does not know them, so that its size
// does not grow with the run. That is for benchmarks only: what is submitted here again is known not to have been written.
type tally int

func count(t tally, in peer.Entry) (tally, peer.Entry, bool) { return t + 1, in.Answer(), true }

type entryID struct{ caller, n int }

func identOf(e peer.Entry) entryID { return entryID{e.Caller, e.N} }

type tallyStore = backends.ViewStore[string, tally]

type tallyOutcome = projected.Outcome[*backends.Error, peer.Entry]

// shop is a store whose calls take a millisecond, with some processes that write to it, each through a ferry of its own.
type shop struct {
	disk      *memory.Store[string, tally, tally]
	processes []*ferry.Ferry[string, peer.Entry, tallyOutcome]

	ops, conflicts, retries atomic.Int64
	answered, gaveUp        atomic.Int64

	mu      sync.Mutex
	batches load.Count // guarded by mu
}

func openShop(processes int) *shop {
	s := &shop{disk: memory.New[string](func(t tally) tally { return t })}
	policy := schedule.Exponential(time.Millisecond).Capped(16 * time.Millisecond).Jittered().And(schedule.Recurs(20)).
		Tap(func(error, time.Duration) { s.retries.Add(1) })
	write := projected.WholeRecord(
		fold.New[*backends.Error](identOf, tallyStore.Read, backends.Step(count), tallyStore.Commit, policy),
		backends.Record[tally].Pending,
		tallyStore.Project)
	for range processes {
		lanes := ferry.PerKey(ferry.Config{}, func(e peer.Entry) string { return e.Key }, s.counted(write.Provide(s.connect()).Call))
		s.processes = append(s.processes, lanes)
	}
	return s
}

// connect answers the store as one process sees it.
func (s *shop) connect() tallyStore {
	slow := faults.Mix{Latency: faults.Latency{Min: time.Millisecond, Max: time.Millisecond}}
	plan := faults.Plan{Read: slow, Commit: slow, Project: slow, Hook: func(faults.Event) { s.ops.Add(1) }}
	return conflictCounter{faults.View(faults.New(plan), s.disk), &s.conflicts}
}

// conflictCounter counts the writes that lost against another process.
type conflictCounter struct {
	tallyStore
	conflicts *atomic.Int64
}

func (c conflictCounter) Commit(ctx context.Context, key string, read, next backends.Record[tally]) (backends.Record[tally], error) {
	stored, err := c.tallyStore.Commit(ctx, key, read, next)
	return stored, c.counted(err)
}

func (c conflictCounter) Project(ctx context.Context, key string, record backends.Record[tally]) error {
	return c.counted(c.tallyStore.Project(ctx, key, record))
}

func (c conflictCounter) counted(err error) error {
	if errors.Is(err, backends.ErrConflict) {
		c.conflicts.Add(1)
	}
	return err
}

type shopCall = func(context.Context, string, []peer.Entry) ([]tallyOutcome, error)

// counted counts the batches that come through.
func (s *shop) counted(call shopCall) shopCall {
	return func(ctx context.Context, key string, batch []peer.Entry) ([]tallyOutcome, error) {
		begun := time.Now()
		outs, err := call(ctx, key, batch)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.batches.Calls++
		s.batches.Spent += time.Since(begun)
		s.batches.Entries += int64(len(outs))
		return outs, err
	}
}

func (s *shop) count() load.Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches
}

// submit takes an entry to the caller's process, and again when its batch had more conflicts than it has retries. A conflict is the only
// failure that the store has, so the entry was not written.
func (s *shop) submit(ctx context.Context, in peer.Entry) (peer.Entry, error) {
	lanes := s.processes[in.Caller%len(s.processes)]
	for {
		out, err := lanes.Submit(ctx, in)
		if err == nil {
			s.answered.Add(1)
			return out.Result, nil
		}
		if !errors.Is(err, backends.ErrConflict) {
			return peer.Entry{}, err
		}
		s.gaveUp.Add(1)
	}
}

// close ends the processes and sees to it that every entry was written once.
func (s *shop) close() error {
	for _, lanes := range s.processes {
		if err := lanes.Close(context.Background()); err != nil {
			return err
		}
	}
	written := 0
	for key, err := range s.disk.Keys(context.Background()) {
		if err != nil {
			return err
		}
		record, err := s.disk.Read(context.Background(), key)
		if err != nil {
			return err
		}
		written += int(record.Body)
	}
	if answered := int(s.answered.Load()); written != answered {
		return fmt.Errorf("%d entries were written, want the %d that were answered", written, answered)
	}
	return nil
}
