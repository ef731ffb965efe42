package projected

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/schedule"
)

// ErrGoexit is the error of a visit or a listing that ended its goroutine with runtime.Goexit.
var ErrGoexit = errors.New("projected: the store called runtime.Goexit")

// Sweeper finishes the pending projections of a store, round by round: it lists the pending keys and visits each
// of them once, as [Provided.Resume] does but without retries. A key that is still pending after its visit
// backs off, twice as long each time, and is visited again in a later round. Any number of sweepers may run
// at once, in any number of processes.
//
// Nothing is ever skipped: every round asks for the whole list again and carries no position over from the last, so
// a key that was pending before a round is listed in it or the next. A listed key is visited unless it backs off,
// which it does for at most MaxBackoff. A key that cannot be finished delays no other.
//
// No failure ends a sweeper: errors, panics and runtime.Goexit, of a visit and of the listing, are reported and wait
// for a later round. Only the context of [Sweeper.Run] ends it.
//
// Make one with [NewSweeper], and set its fields before Run.
type Sweeper[K, ID comparable] struct {
	// Every is the pause between two rounds. A schedule that ends is started again. The zero value is a jittered
	// second.
	Every schedule.Schedule
	// Concurrency bounds the visits that are under way at once. Default 8.
	Concurrency int
	// Timeout ends the context of a visit, and of a listing. Default one minute. A visit that does not return
	// all the same holds one of the places, and delays no round.
	Timeout time.Duration
	// MinBackoff and MaxBackoff bound how long a key backs off after a visit that left it pending, jitter included.
	// Defaults 100 ms and one minute.
	MinBackoff, MaxBackoff time.Duration
	// OnVisit, if set, is told of each visit: what it left pending, and its error. It is called by several
	// goroutines at once.
	OnVisit func(key K, left Projection[ID], err error)
	// OnRound, if set, is told of each listing, also of its error. It is called by one goroutine at a time.
	OnRound func(round Round, err error)

	visit func(context.Context, K) (Projection[ID], error)
	list  func(context.Context) iter.Seq2[K, error]
}

// Round is what one listing found.
type Round struct {
	// Listed counts the keys that were listed.
	Listed int
	// BackingOff counts those of them that were not visited since they failed not long ago.
	BackingOff int
	// Waiting and Running count the keys that wait for their visit and those being visited, after the listing.
	Waiting, Running int
}

// NewSweeper makes the sweeper of write on the store env. pendingKeys lists the keys whose record is pending,
// a query on the store's side: it may page while it yields, but must not carry a position from one call to the next.
// It may yield an error for a part that it could not read and go on, or end. NewSweeper panics if a function
// is nil, and names it.
func NewSweeper[R any, E error, K comparable, I any, ID comparable, S, O any](
	write ProjectedWrite[R, E, K, I, ID, S, O],
	env R,
	pendingKeys func(R, context.Context) iter.Seq2[K, error],
) *Sweeper[K, ID] {
	write.Provide(env) // Refuses a literal with a nil function.
	if pendingKeys == nil {
		panic("projected: NewSweeper: pendingKeys is nil")
	}
	b := bound[R, E, K, I, ID, S, O]{w: write, env: env}
	return &Sweeper[K, ID]{
		visit: b.visit,
		list:  func(ctx context.Context) iter.Seq2[K, error] { return pendingKeys(env, ctx) },
	}
}

// LogTo sets OnVisit and OnRound to say in log what each visit left pending and why, and which listings failed.
// Visits that left nothing are logged at debug level. Neither records nor inputs are logged.
func (s *Sweeper[K, ID]) LogTo(log *slog.Logger) {
	s.OnVisit = func(key K, left Projection[ID], err error) {
		switch {
		case err != nil:
			log.Warn("sweeping failed", "key", key, "error", err)
		case len(left) > 0:
			log.Info("still pending after a sweep", "key", key, "entries", len(left), "causes", fmt.Sprint(left))
		default:
			log.Debug("swept", "key", key)
		}
	}
	s.OnRound = func(round Round, err error) {
		if err != nil {
			log.Warn("listing pending keys failed", "listed", round.Listed, "error", err)
		}
	}
}

// Run sweeps until ctx ends, waits for the visits under way, whose context has ended with it, and answers the
// context's error. One Run at a time. It panics if Concurrency or a duration is negative, and names it.
func (s *Sweeper[K, ID]) Run(ctx context.Context) error {
	r := s.start(ctx)
	defer r.visits.Wait()
	every := r.Every.Start()
	for {
		r.round()
		pause, more := every.Next(nil)
		if !more {
			every = r.Every.Start()
		}
		if err := schedule.Sleep(ctx, max(pause, time.Millisecond)); err != nil {
			return err
		}
	}
}

// sweep is the state of one Run. A key has an entry from its listing until a visit, or a whole listing without it,
// shows that it is done.
type sweep[K, ID comparable] struct {
	Sweeper[K, ID] // A copy, with its defaults filled in.
	ctx            context.Context
	backoff        schedule.Schedule
	visits         sync.WaitGroup

	mu      sync.Mutex
	keys    map[K]*entry // guarded by mu
	due     []K          // guarded by mu; those of keys that wait for a place, first come, first served
	running int          // guarded by mu
	rounds  int          // guarded by mu
	hookErr error        // guarded by mu
}

type entry struct {
	active  bool          // due or running
	until   time.Time     // backs off until then
	backoff *schedule.Run // nil before the first failure
	listed  int           // the last round that listed it
}

func (s *Sweeper[K, ID]) start(ctx context.Context) *sweep[K, ID] {
	switch {
	case s.Concurrency < 0:
		panic("projected: Sweeper.Concurrency is negative")
	case s.Timeout < 0:
		panic("projected: Sweeper.Timeout is negative")
	case s.MinBackoff < 0:
		panic("projected: Sweeper.MinBackoff is negative")
	case s.MaxBackoff < 0:
		panic("projected: Sweeper.MaxBackoff is negative")
	}
	r := &sweep[K, ID]{Sweeper: *s, ctx: ctx, keys: map[K]*entry{}}
	r.Concurrency = cmp.Or(s.Concurrency, 8)
	r.Timeout = cmp.Or(s.Timeout, time.Minute)
	r.MinBackoff = cmp.Or(s.MinBackoff, 100*time.Millisecond)
	r.MaxBackoff = cmp.Or(s.MaxBackoff, time.Minute)
	r.backoff = schedule.Exponential(r.MinBackoff).Capped(r.MaxBackoff).JitteredBetween(0.5, 1)
	if _, more := s.Every.Start().Next(nil); !more {
		r.Every = schedule.Spaced(time.Second).Jittered()
	}
	return r
}

// round lists once and makes the listed keys due. It does not wait for their visits.
func (r *sweep[K, ID]) round() {
	r.mu.Lock()
	r.rounds++
	r.mu.Unlock()
	var round Round
	ctx, cancel := context.WithTimeout(r.ctx, r.Timeout)
	defer cancel()
	err := contained(func() error { return r.listing(ctx, &round) })
	if r.ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	if err == nil {
		r.forgetUnlisted()
	}
	round.Waiting, round.Running = len(r.due), r.running
	err, r.hookErr = errors.Join(err, r.hookErr), nil
	r.mu.Unlock()
	r.tell(func() {
		if r.OnRound != nil {
			r.OnRound(round, err)
		}
	})
}

// listing answers the first error, and goes on for as long as the store yields.
func (r *sweep[K, ID]) listing(ctx context.Context, round *Round) (first error) {
	for key, err := range r.list(ctx) {
		if err == nil {
			round.Listed++
			err = r.note(key, round)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// note makes a listed key due unless it is already, or backs off.
func (r *sweep[K, ID]) note(key K, round *Round) (err error) {
	defer fold.Recover(&err) // A key of an interface type may be unhashable.
	if key != key {
		return fmt.Errorf("projected: pending key %v is not equal to itself", key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.keys[key]
	if e == nil {
		e = &entry{}
		r.keys[key] = e
	}
	e.listed = r.rounds
	switch {
	case e.active:
	case time.Now().Before(e.until):
		round.BackingOff++
	default:
		e.active = true
		r.due = append(r.due, key)
		r.fillPlaces()
	}
	return nil
}

// forgetUnlisted drops the memory of keys that somebody else finished. Only a whole listing proves a key absent.
// r.mu is held.
func (r *sweep[K, ID]) forgetUnlisted() {
	for key, e := range r.keys {
		if !e.active && e.listed != r.rounds {
			delete(r.keys, key)
		}
	}
}

// fillPlaces starts visits while there are due keys and free places. r.mu is held.
func (r *sweep[K, ID]) fillPlaces() {
	for r.running < r.Concurrency && len(r.due) > 0 && r.ctx.Err() == nil {
		key := r.due[0]
		r.due = r.due[1:]
		r.running++
		r.visits.Go(func() { r.visitOne(key) })
	}
}

func (r *sweep[K, ID]) visitOne(key K) {
	ctx, cancel := context.WithTimeout(r.ctx, r.Timeout)
	defer cancel()
	var left Projection[ID]
	err := contained(func() (err error) {
		left, err = r.visit(ctx, key)
		return err
	})
	r.tell(func() {
		if r.OnVisit != nil {
			r.OnVisit(key, left, err)
		}
	})
	r.visited(key, err == nil && len(left) == 0)
}

// tell calls a hook. Its panic waits for the next round's report: a hook must not end the sweeper either.
func (r *sweep[K, ID]) tell(hook func()) {
	err := contained(func() error {
		hook()
		return nil
	})
	if err != nil {
		r.mu.Lock()
		r.hookErr = fmt.Errorf("projected: a hook of the sweeper failed: %w", err)
		r.mu.Unlock()
	}
}

// visited gives the place of key to the next.
func (r *sweep[K, ID]) visited(key K, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	e := r.keys[key]
	e.active = false
	if done {
		delete(r.keys, key)
	} else {
		if e.backoff == nil {
			e.backoff = r.backoff.Start()
		}
		delay, _ := e.backoff.Next(nil)
		e.until = time.Now().Add(delay)
	}
	r.fillPlaces()
}

// contained runs f on a goroutine of its own and waits for it. A panic or a Goexit of f is its error.
func contained(f func() error) error {
	err := ErrGoexit
	var alone sync.WaitGroup
	alone.Go(func() { err = recovered(f) })
	alone.Wait()
	return err
}

func recovered(f func() error) (err error) {
	defer fold.Recover(&err)
	return f()
}
