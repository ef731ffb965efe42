package faults

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/schedule"
)

// fate is what becomes of one call, or of one row of a put.
type fate struct {
	op          Op
	key         any
	call        int // its number among all calls and rows
	fault       error
	there, back time.Duration
	draw        float64 // how late a late write is, and how much of a lost listing arrives
}

// begin decides the fate of a call, and lets the late writes land that come before it.
func (f *Faults) begin(op Op, key any) fate {
	t := f.decide(op, key)
	f.tell(Event{Op: op, Key: key, Fault: t.fault})
	if t.fault != ErrDown && t.fault != ErrCrashed {
		f.landBefore(t.call)
	}
	return t
}

func (f *Faults) decide(op Op, key any) fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	t := fate{op: op, key: key, call: f.calls}
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

// opState is the state of one operation.
type opState struct {
	Mix
	draws  *rand.Rand
	count  int // the calls that no outage and no crash refused
	broken bool
}

func newOpStates(plan Plan) map[Op]*opState {
	states := map[Op]*opState{}
	for i, op := range allOps {
		draws := rand.New(rand.NewPCG(plan.Seed, uint64(i)))
		states[op] = &opState{Mix: plan.mixOf(op), draws: draws}
	}
	return states
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

// arrives says that the store carries the call out now.
func (t fate) arrives() bool { return t.fault == nil || t.fault == ErrLost }

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

func (t fate) failed(class, cause error) error {
	return &backends.Error{Op: string(t.op), Key: t.key, Class: class, Err: cause}
}

// goThere is the way to the store.
func (t fate) goThere(ctx context.Context) error {
	if err := schedule.Sleep(ctx, t.there); err != nil {
		return t.failed(backends.ErrUnknown, err)
	}
	return nil
}

// goBack is the way back. If it takes no time the store's answer stands, whatever has become of the context.
func (t fate) goBack(ctx context.Context) error {
	if t.back == 0 {
		return nil
	}
	if err := schedule.Sleep(ctx, t.back); err != nil {
		return t.failed(backends.ErrUnknown, err)
	}
	return nil
}
