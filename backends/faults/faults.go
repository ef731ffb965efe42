// Package faults wraps any store of the backends contract so that its calls fail as those of real stores do:
// throttled, lost on the way back, applied late, slow, down, or cut off by a crash.
//
// A [Plan] says what goes wrong, [New] makes its state, and [View] or [Rows] wraps a store with it:
//
//	f := faults.New(faults.Plan{Seed: 1, Put: faults.Mix{Throttle: faults.Rate{N: 1, M: 9}}})
//	store := faults.Rows(f, memory.NewRows[string](rowsOf, Row.Ident))
//
// What is due at certain moments of a story is switched: [Faults.Break] and [Faults.Heal] for an outage,
// [Faults.Crash] and [Faults.Restart] for a process, [Faults.Land] for late writes. One Faults is what one process
// sees of its store: two processes on one store are two Faults around it.
//
// # Truth
//
// The errors are [*backends.Error]s whose class is true: a refused call was not carried out and never will be; a call
// whose answer was lost, or which is late, is unknown. The cause is one of this package's errors. Answers that
// are not met by a fault are the store's own.
//
// # Reproducibility
//
// The draws of each operation start from the plan's seed, in the order of its calls. So one goroutine meets the
// same faults in every run. Concurrent callers share out the same faults in the order in which they come.
//
// # Concurrency
//
// Everything may be used by any number of goroutines. No lock is held while the store, the hook or a latency takes
// its time.
package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/schedule"
)

// The faults, as causes of errors and in events.
var (
	// ErrThrottled: the store refused the call.
	ErrThrottled = errors.New("throttled")
	// ErrDown: the call fell into an outage.
	ErrDown = errors.New("down")
	// ErrCrashed: the process has crashed and was not restarted.
	ErrCrashed = errors.New("crashed")
	// ErrLost: the call was carried out, its answer lost.
	ErrLost = errors.New("answer lost")
	// ErrLate: the write will be carried out later.
	ErrLate = errors.New("write delayed")
)

// Faults is a [Plan] under way. Make one with [New].
type Faults struct {
	plan  Plan
	start time.Time

	mu      sync.Mutex
	ops     map[Op]*opState // the map is immutable, its states are guarded by mu
	calls   int             // guarded by mu
	crashed bool            // guarded by mu
	late    []lateWrite     // guarded by mu
}

// opState is one operation's part of the state.
type opState struct {
	Mix
	draws  *rand.Rand
	count  int // the calls that were not refused by an outage or a crash
	broken bool
}

type lateWrite struct {
	fate
	due  int // lands before the call of this number; 0: only by Land
	land func()
}

// New starts plan. It panics if plan is not valid, and names the field.
func New(plan Plan) *Faults {
	plan.mustBeValid()
	if plan.LateBy == 0 {
		plan.LateBy = 8
	}
	f := &Faults{plan: plan, start: time.Now(), ops: map[Op]*opState{}}
	for i, op := range allOps {
		mix := plan.mixes()[op]
		f.ops[op] = &opState{Mix: mix, draws: rand.New(rand.NewPCG(plan.Seed, uint64(i)))}
	}
	return f
}

// Break refuses every call of ops until [Faults.Heal]; without ops, every call. Late writes wait meanwhile.
func (f *Faults) Break(ops ...Op) { f.setBroken(ops, true) }

// Heal ends what [Faults.Break] began, for ops; without ops, for all. The outages of the plan go by the clock.
func (f *Faults) Heal(ops ...Op) { f.setBroken(ops, false) }

func (f *Faults) setBroken(ops []Op, broken bool) {
	if len(ops) == 0 {
		ops = allOps
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, op := range ops {
		f.ops[op].broken = broken
	}
}

// Crash makes every call from now on answer an error and do nothing, until [Faults.Restart]. A call that is under
// way is carried out, as a request is that has left its process.
func (f *Faults) Crash() { f.setCrashed(true) }

// Restart ends a crash. Late writes of before are still on their way.
func (f *Faults) Restart() { f.setCrashed(false) }

func (f *Faults) setCrashed(crashed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashed = crashed
}

// Land carries out all late writes now, also while the store is down or the process has crashed. It blocks until
// they are done and answers how many they were.
func (f *Faults) Land() int {
	return f.land(func(lateWrite) bool { return true })
}

// land carries out the late writes that are due, oldest first. One that panics leaves the others for later.
func (f *Faults) land(due func(lateWrite) bool) int {
	for landed := 0; ; landed++ {
		f.mu.Lock()
		i := slices.IndexFunc(f.late, due)
		if i < 0 {
			f.mu.Unlock()
			return landed
		}
		write := f.late[i]
		f.late = slices.Delete(f.late, i, i+1)
		f.mu.Unlock()
		f.tell(Event{Op: write.op, Key: write.key, Fault: write.fault, Landed: true})
		write.land()
	}
}

func (f *Faults) tell(event Event) {
	if f.plan.Hook != nil {
		f.plan.Hook(event)
	}
}

// fate is what becomes of one call, or of one row of a put.
type fate struct {
	op          Op
	key         any
	number      int // of the call, among all
	fault       error
	there, back time.Duration
	draw        float64 // how late, or how much of a listing
}

// begin decides the fate of a call, and lets the late writes land that come before it.
func (f *Faults) begin(op Op, key any) fate {
	t := f.decide(op, key)
	f.tell(Event{Op: op, Key: key, Fault: t.fault})
	if t.fault != ErrDown && t.fault != ErrCrashed {
		f.land(func(w lateWrite) bool { return w.due > 0 && w.due <= t.number })
	}
	return t
}

func (f *Faults) decide(op Op, key any) fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	t := fate{op: op, key: key, number: f.calls}
	s := f.ops[op]
	switch {
	case f.crashed:
		t.fault = ErrCrashed
	case s.broken || s.isOut(time.Since(f.start)):
		t.fault = ErrDown
	default:
		s.decide(&t)
		f.crashed = s.count == s.CrashAfter
	}
	return t
}

func (s *opState) isOut(now time.Duration) bool {
	return slices.ContainsFunc(s.Outages, func(w Window) bool { return w.From <= now && now < w.To })
}

// decide makes all of a call's draws, whatever comes of them, so that a changed rate leaves the other draws alone.
func (s *opState) decide(t *fate) {
	s.count++
	throttled, lost, late := s.meets(s.Throttle), s.meets(s.Lost), s.meets(s.Late)
	takes := s.Latency.Min + time.Duration(s.draws.Float64()*float64(s.Latency.Max-s.Latency.Min))
	t.there = time.Duration(s.draws.Float64() * float64(takes))
	t.back = takes - t.there
	t.draw = s.draws.Float64()
	switch {
	case throttled:
		t.fault = ErrThrottled
	case lost:
		t.fault = ErrLost
	case late:
		t.fault = ErrLate
	}
}

func (s *opState) meets(r Rate) bool {
	drawn := s.draws.Float64() < r.P
	counted := r.M > 0 && s.count*r.N/r.M > (s.count-1)*r.N/r.M
	return counted || drawn
}

// err answers the error of the fault, nil if there is none.
func (t fate) err() error {
	switch t.fault {
	case nil:
		return nil
	case ErrLost, ErrLate:
		return t.failed(backends.ErrUnknown, t.fault)
	}
	return t.failed(backends.ErrRefused, t.fault)
}

func (t fate) failed(class, err error) error {
	return &backends.Error{Op: string(t.op), Key: t.key, Class: class, Err: err}
}

// isRefused says that the call never reaches the store.
func (t fate) isRefused() bool {
	return t.fault != nil && t.fault != ErrLost && t.fault != ErrLate
}

// goThere is the way to the store.
func (t fate) goThere(ctx context.Context) error {
	if err := schedule.Sleep(ctx, t.there); err != nil {
		return t.failed(backends.ErrUnknown, err)
	}
	return nil
}

// goBack is the way back. Without a latency the store's answer stands, whatever the context.
func (t fate) goBack(ctx context.Context) error {
	if t.back == 0 {
		return nil
	}
	if err := schedule.Sleep(ctx, t.back); err != nil {
		return t.failed(backends.ErrUnknown, err)
	}
	return nil
}

// postpone keeps a late write until it is due.
func (f *Faults) postpone(t fate, land func()) {
	due := 0
	if f.plan.LateBy > 0 {
		due = t.number + 1 + int(t.draw*float64(f.plan.LateBy))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = append(f.late, lateWrite{fate: t, due: due, land: land})
}
