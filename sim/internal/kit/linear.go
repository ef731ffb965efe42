package kit

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// A key is a register whose value is the set of inputs in its log. A bit is an input's number, so that a history has at
// most 64.
type (
	// access is a read, or a commit on the value that was read.
	access struct {
		commit         bool
		expect, become uint64
	}
	// answer is the value of a read, or the outcome of a commit.
	answer struct {
		value   uint64
		outcome outcome
	}
	outcome uint8
)

const (
	done    outcome = iota
	refused         // Nothing was written.
	unknown         // It may have been, and may still.
)

var register = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, in, out any) (bool, any) {
		held, call, got := state.(uint64), in.(access), out.(answer)
		switch {
		case !call.commit:
			return got.value == held, held
		case got.outcome == done:
			return held == call.expect, call.become
		case got.outcome == unknown && held == call.expect:
			return true, call.become // Or never: then it is the last of all.
		}
		return true, held
	},
}

const (
	clients, rounds = 5, 10
	// leavers is how many may leave. Each doubles the orders that there may be.
	leavers = 8
)

// linear records what clients see of one key, some of whom leave in the middle of a commit, and looks for one order that
// explains it all.
func (c crowd) linear() *Violation {
	var h recording
	together(clients, func(client int) {
		random := rand.New(rand.NewPCG(c.effort.Seed, uint64(client)))
		for n := client * rounds; n < (client+1)*rounds; n++ {
			h.access(c, client, n, random)
		}
	})
	if !porcupine.CheckOperations(register, h.calls) {
		return broke(Linear, "no order of %d reads and commits of one key explains what they answered", len(h.calls))
	}
	return nil
}

// recording is a history in the making. Its time is a counter, which all clients share.
type recording struct {
	clock   atomic.Int64
	unknown atomic.Int64

	mu    sync.Mutex
	calls []porcupine.Operation // guarded by mu
}

// access reads, and commits input n on what was read.
func (h *recording) access(c crowd, client, n int, random *rand.Rand) {
	called := h.clock.Add(1)
	record, err := c.store.Read(c.ctx, c.key)
	if err != nil {
		return // It says nothing.
	}
	read := c.bits(record)
	h.add(client, called, access{}, answer{value: read})

	if h.unknown.Load() > 2*leavers {
		return // The store does not say of its conflicts that nothing was written.
	}
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if h.unknown.Load() < leavers && random.IntN(2) == 0 {
		ctx, cancel = context.WithTimeout(c.ctx, time.Duration(random.IntN(int(time.Millisecond))))
	}
	defer cancel()
	next, _ := c.store.Step(record, c.key, n)
	called = h.clock.Add(1)
	_, err = c.store.Write(ctx, c.key, record, next)
	got := answer{}
	switch {
	case err != nil && notWritten(err):
		got.outcome = refused
	case err != nil:
		got.outcome = unknown
	}
	h.add(client, called, access{commit: true, expect: read, become: read | 1<<n}, got)
}

func (h *recording) add(client int, called int64, in access, out answer) {
	returned := h.clock.Add(1)
	if out.outcome == unknown {
		returned = math.MaxInt64 // It may still happen.
		h.unknown.Add(1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, porcupine.Operation{ClientId: client, Input: in, Call: called, Output: out, Return: returned})
}

// bits is a log as the set of the inputs' numbers.
func (c crowd) bits(record any) (set uint64) {
	held := setOf(c.store.Log(record))
	for n := range clients * rounds {
		if held[c.store.ID(c.key, n)] {
			set |= 1 << n
		}
	}
	return set
}
