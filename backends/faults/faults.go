// Package faults wraps any store of the backends contract so that its calls fail as those of real stores do:
// throttled, lost on the way back, applied late, slow, down, or cut off by a crash.
//
// A [Plan] says what goes wrong, [New] starts it, and [View] or [Rows] wraps a store with it:
//
//	f := faults.New(faults.Plan{Seed: 1, Put: faults.Mix{Throttle: faults.Rate{N: 1, M: 9}}})
//	store := faults.Rows(f, memory.NewRows[string](Log.Rows, Row.Ident))
//
// What is due at certain moments of a story is switched: [Faults.Break] and [Faults.Heal] for an outage,
// [Faults.Crash] and [Faults.Restart] for a process, [Faults.Land] for late writes. One Faults is what one process
// sees of its store: for two processes on one store, wrap it twice.
//
// # Truth
//
// The errors are [*backends.Error]s whose class is true: a refused call was not carried out and never will be; a call
// whose answer was lost, or which is late, is unknown. Their causes are the errors of this package. What meets
// no fault has the store's own answer.
//
// # Reproducibility
//
// Each operation has draws of its own, which start from the plan's seed and are used up in the order of its calls. So
// a single goroutine meets the same faults in every run. Concurrent callers meet the same faults in the order in
// which they come, which is theirs to fix.
//
// # Concurrency
//
// Everything may be used by any number of goroutines. No lock is held while the store or the hook runs, or while a
// latency is slept.
package faults

import (
	"errors"
	"fmt"
	"sync"
	"time"
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
	ops     map[Op]*opState // never changed, but the states are guarded by mu
	calls   int             // guarded by mu
	crashed bool            // guarded by mu
	late    []lateWrite     // guarded by mu
}

// New starts plan. It panics if plan is not valid, and names the field.
func New(plan Plan) *Faults {
	plan.mustBeValid()
	if plan.LateBy == 0 {
		plan.LateBy = 8
	}
	return &Faults{plan: plan, start: time.Now(), ops: newOpStates(plan)}
}

// Break refuses every call of ops until [Faults.Heal]; without ops, every call. It panics if ops holds a name that is
// not one.
func (f *Faults) Break(ops ...Op) { f.setBroken("Break", ops, true) }

// Heal ends what [Faults.Break] began, for ops; without ops, for all. The outages of the plan go by the clock.
func (f *Faults) Heal(ops ...Op) { f.setBroken("Heal", ops, false) }

func (f *Faults) setBroken(by string, ops []Op, broken bool) {
	if len(ops) == 0 {
		ops = allOps
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, op := range ops {
		s, ok := f.ops[op]
		if !ok {
			panic(fmt.Sprintf("faults: %s: no operation is named %q", by, op))
		}
		s.broken = broken
	}
}

// Crash makes every call from now on answer an error and do nothing, until [Faults.Restart]. A call that is under
// way is carried out, as a request is that has left its process.
func (f *Faults) Crash() { f.setCrashed(true) }

// Restart ends a crash. Late writes from before it are still on their way.
func (f *Faults) Restart() { f.setCrashed(false) }

func (f *Faults) setCrashed(crashed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashed = crashed
}

func (f *Faults) tell(event Event) {
	if f.plan.Hook != nil {
		f.plan.Hook(event)
	}
}
