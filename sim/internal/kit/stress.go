package kit

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/goferry/goferry/schedule"
)

// patient retries until it succeeds.
var patient = schedule.Exponential(time.Millisecond).Capped(20 * time.Millisecond).Jittered()

// Stress lets goroutines use a store, as many processes do.
func Stress(t T, effort Effort) {
	t.Helper()
	for _, part := range []struct {
		law Law
		run func(crowd) *Violation
	}{
		{AddUp, crowd.increments},
		{OneLands, crowd.projections},
		{Neighbours, crowd.neighbours},
		{Definite, crowd.cancelled},
		{Linear, crowd.linear},
	} {
		t.Run("at once: "+part.law.Name, func(t T, store *Store) {
			c := crowd{ctx: t.Context(), store: store, key: store.NewKey(), effort: effort}
			if v := part.run(c); v != nil {
				t.Broken(v)
			}
		})
	}
}

// crowd is many on one key.
type crowd struct {
	ctx    context.Context
	store  *Store
	key    any
	effort Effort
}

// first keeps the first violation that somebody reports.
type first struct {
	mu sync.Mutex
	v  *Violation // guarded by mu
}

func (f *first) broke(law Law, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.v == nil {
		f.v = broke(law, format, args...)
	}
}

// together runs do n times at once.
func together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

const writers, each = 6, 10

// increments has writers with entries of their own on one key, beside sweepers and a reader. Every entry must be there
// in the end, once.
func (c crowd) increments() *Violation {
	var found first
	ctx, done := context.WithCancel(c.ctx)
	var beside sync.WaitGroup
	beside.Go(func() { c.watch(ctx, &found) })
	for range 2 {
		beside.Go(func() {
			for ctx.Err() == nil {
				c.store.Resume(Direct, never, ctx, c.key) // Its failures are those of the writers.
				pause(ctx)
			}
		})
	}
	together(writers, func(w int) {
		for n := range each {
			if _, err := c.store.Call(Direct, patient, c.ctx, c.key, []int{w*each + n}); err != nil {
				found.broke(AddUp, "a call among others failed: %v", err)
				return
			}
		}
	})
	done()
	beside.Wait()
	if found.v != nil {
		return found.v
	}
	return c.complete(writers * each)
}

// pause lets others go first.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Millisecond):
	}
}

// watch reads the log and the view, which must not shrink.
func (c crowd) watch(ctx context.Context, found *first) {
	var log, view int
	for ctx.Err() == nil {
		record, err := c.store.Read(c.ctx, c.key)
		shown, viewErr := c.store.View(c.ctx, c.key)
		if err := errors.Join(err, viewErr); err != nil {
			found.broke(Accepted, "record and view could not be read beside writers: %v", err)
			return
		}
		now := c.store.Log(record)
		if len(now) < log || len(shown) < view {
			found.broke(Backwards, "a reader saw %d entries and %d in the view, and then %d and %d", log, view, len(now), len(shown))
			return
		}
		log, view = len(now), len(shown)
		pause(ctx)
	}
}

// complete wants so many entries in the log and, after a sweep, in the view.
func (c crowd) complete(want int) *Violation {
	s := &session{store: c.store, key: c.key, history: newHistory(c.store, c.key)}
	s.look(c.ctx)
	if s.broken == nil && (len(s.state.Log) != want || repeats(s.state.Log)) {
		s.broke(AddUp, "%d entries were acknowledged, and the log holds %d: %d of them once", want, len(s.state.Log), distinct(s.state.Log))
	}
	if s.broken == nil {
		s.checkState(s.state)
	}
	s.sweep(c.ctx)
	if s.broken != nil {
		s.broken.History = nil // There is no order of steps to show.
	}
	return s.broken
}

func distinct(ids []any) int {
	seen := map[any]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	return len(seen)
}

// projections settles one record many times at once.
func (c crowd) projections() *Violation {
	const many = 8
	if _, err := c.store.Call(onlyCommit, never, c.ctx, c.key, []int{0, 1, 2}); err != nil {
		return broke(Accepted, "a commit failed: %v", err)
	}
	record, err := c.store.Read(c.ctx, c.key)
	if err != nil {
		return broke(Accepted, "a read failed: %v", err)
	}
	errs := make([]error, many)
	together(many, func(i int) { _, errs[i] = c.store.Project(Direct, c.ctx, c.key, record) })
	landed := 0
	for _, err := range errs {
		switch {
		case err == nil:
			landed++
		case !c.store.Typed(err):
			return broke(Typed, "a projection that came second answered a %T, which is not one: %s", err, firstLine(err))
		}
	}
	if landed != 1 {
		return broke(OneLands, "of %d projections of one record at once %d succeeded", many, landed)
	}
	return c.complete(3)
}

// onlyCommit is a Do that keeps a call from projecting.
func onlyCommit(ctx context.Context, op Op) error {
	if op.Kind == Read || op.Kind == Commit {
		return op.Run(ctx)
	}
	return errDead
}

// neighbours has a writer on each of many keys, with nobody else on it, and one key whose writers are refused all the
// time.
func (c crowd) neighbours() *Violation {
	const many = 12
	var found first
	keys := make([]any, many)
	for i := range keys {
		keys[i] = c.store.NewKey()
	}
	zero, err := c.store.Read(c.ctx, c.key)
	if err != nil {
		return broke(Accepted, "a read failed: %v", err)
	}
	ctx, done := context.WithCancel(c.ctx)
	var beside sync.WaitGroup
	beside.Go(func() { c.beRefused(ctx, zero) })
	together(many, func(i int) {
		record := zero
		for n := range each {
			next, _ := c.store.Step(record, keys[i], n)
			var err error
			if record, err = c.store.Write(c.ctx, keys[i], record, next); err != nil {
				found.broke(Neighbours, "the only writer of a key was not answered its commit, while others were refused on another key: %v", err)
				return
			}
		}
	})
	done()
	beside.Wait()
	return found.v
}

// beRefused commits on a record that is stale from its second commit on, until ctx ends or it has been refused often: in
// virtual time others may wait for it to rest.
func (c crowd) beRefused(ctx context.Context, zero any) {
	next, _ := c.store.Step(zero, c.key, 0)
	for n := 0; n < 1000 && ctx.Err() == nil; n++ {
		c.store.Write(c.ctx, c.key, zero, next) // Its refusals are checked elsewhere.
	}
}

// cancelled lets commits run each under a context that ends at about the time when they are done, and holds every answer
// against what is there in the end.
func (c crowd) cancelled() *Violation {
	const attempts = 40
	var found first
	keys := []any{c.key, c.store.NewKey(), c.store.NewKey()}
	together(len(keys), func(w int) {
		own := canceller{
			crowd: crowd{c.ctx, c.store, keys[w], c.effort}, found: &found, longest: time.Millisecond,
			random: rand.New(rand.NewPCG(c.effort.Seed, uint64(w))),
		}
		for n := range attempts {
			own.commit(n)
		}
		own.check()
	})
	return found.v
}

type canceller struct {
	crowd
	found   *first
	random  *rand.Rand
	longest time.Duration
	errs    []error // by the number of the input
}

func (c *canceller) commit(n int) {
	ctx, cancel := context.WithTimeout(c.ctx, time.Duration(c.random.Int64N(int64(c.longest))))
	defer cancel()
	_, err := c.store.Call(onlyCommit, never, ctx, c.key, []int{n})
	c.errs = append(c.errs, err)
	if err == nil { // About half of the commits are to be cut off, whatever the machine is doing.
		c.longest -= c.longest / 16
	} else {
		c.longest += c.longest / 16
	}
}

func (c *canceller) check() {
	record, err := c.store.Read(c.ctx, c.key)
	if err != nil {
		c.found.broke(Accepted, "a read failed: %v", err)
		return
	}
	log := c.store.Log(record)
	for n, err := range c.errs {
		there := slices.Contains(log, c.store.ID(c.key, n))
		switch {
		case err == nil && !there:
			c.found.broke(ReadBack, "a commit was answered just before its context ended, and its entry is not there")
		case err != nil && there && notWritten(err):
			c.found.broke(Definite, "a commit whose context ended answered that nothing was written (%s), and it was", firstLine(err))
		}
	}
}
