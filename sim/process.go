package sim

import (
	"context"
	"iter"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/sim/simstore"
)

// process runs its calls on a coroutine, which parks at each operation until the world has served it. Only one of
// world and coroutine runs at a time, so they share memory without locks.
type process struct {
	w     *world
	index int
	spec  Process
	code  code

	next  func() (struct{}, bool) // runs the coroutine to its next yield; nil before the first run
	stop  func()
	yield func(struct{}) bool

	at     int              // index of the call under way
	parked bool             // at req; otherwise every call has returned
	req    simstore.Request // what it asks for
	answer simstore.Answer  // what it gets
	call   call
	cancel context.CancelFunc

	dead  bool // crashed, until the call has unwound
	quit  bool // the run is over: unwinds for good
	inert int  // operations since dead
}

// errDead is what a dead process gets.
var errDead = &backends.Error{Op: "store", Class: backends.ErrUnknown, Err: errInjected}

// maxInert bounds the operations of a call after its process has died. Code that respects its context needs none.
const maxInert = 100

// start begins a run. The coroutine is kept from one run to the next: a new one would grow its stack again.
func (p *process) start() {
	if p.next == nil {
		p.next, p.stop = iter.Pull(p.live)
	}
	p.at, p.quit, p.parked = 0, false, true
	p.resume()
}

// resume lets the coroutine run to its next operation, or to the end of its calls.
func (p *process) resume() { p.next() }

// live makes the calls of one run after the other, until stop.
func (p *process) live(yield func(struct{}) bool) {
	p.yield = yield
	for {
		for ; p.at < len(p.spec.Calls) && !p.quit; p.at++ {
			p.dead = false
			p.perform(p.spec.Calls[p.at])
		}
		p.parked = false
		if !yield(struct{}{}) {
			return
		}
	}
}

func (p *process) perform(c Call) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.cancel, p.inert = cancel, 0
	p.call.reset(c)
	defer p.contain()
	switch {
	case c.Look:
		a := p.do(simstore.Request{Op: simstore.Look, Key: c.Key})
		p.w.returned(p, func(r *Made) { r.View, r.Log = a.Rows, a.Record.Log })
	case len(c.Inputs) == 0:
		left, err := p.code.resume(ctx, c.Key)
		p.w.resumed(p, left, err)
	default:
		outs, err := p.code.call(ctx, c.Key, c.Inputs)
		p.w.answered(p, outs, err)
	}
}

// contain catches a panic that the library let through.
func (p *process) contain() {
	if v := recover(); v != nil {
		p.w.broke(Contained, "%s: a panic came out of the call", p.spec.Name)
	}
}

// do is an operation of the store. A dead process gets an error at once: it can change nothing any more. That is how
// it unwinds, since a panic or a Goexit may be caught on the way.
func (p *process) do(r simstore.Request) simstore.Answer {
	if !p.dead {
		p.w.asked(p, r)
		p.req = r
		p.yield(struct{}{})
	}
	if p.dead {
		if p.inert++; p.inert > maxInert {
			p.w.broke(Ends, "%s: the call goes on after its context has ended", p.spec.Name)
			p.abandon()
		}
		return simstore.Answer{Err: errDead}
	}
	if p.call.panicked {
		panic(errInjected)
	}
	return p.answer
}

// die ends the call under way. What it had asked for is the network's business.
func (p *process) die() {
	p.dead = true
	p.cancel()
	p.resume()
}

// abandon leaves a coroutine behind that cannot be ended. Its goroutine stays, for nobody will resume it.
func (p *process) abandon() {
	p.next, p.stop, p.parked = nil, nil, false
	for {
		p.yield(struct{}{})
	}
}

// release ends the run.
func (p *process) release() {
	if p.parked {
		p.quit = true
		p.die()
	}
}

// close ends the coroutine, between two runs.
func (p *process) close() {
	if p.stop != nil {
		p.stop()
	}
}

// midCall says whether the process could go on with a call that it has begun.
func (p *process) midCall() bool { return p.parked && p.call.ops > 0 }
