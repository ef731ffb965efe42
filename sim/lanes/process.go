package lanes

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim"
	"github.com/goferry/goferry/sim/simstore"
)

// Outcome is what a caller is answered. Its result is the position of the input in the log.
type Outcome = projected.Outcome[*backends.Error, int]

// process is a ferry of its own over the store that all share, and what is known of it from outside.
type process struct {
	w     *world
	index int
	name  string
	ferry *ferry.Ferry[string, *caller, Outcome]
	lanes []*lane // one per key of the scenario

	observed digest // all that has happened to it

	closing    bool
	closeUntil context.CancelFunc // makes Close give up
	gaveUp     time.Time          // zero if it did not
	closed     bool
	closeErr   error
}

// lane is what the laws know of one.
type lane struct {
	p     *process
	key   string
	queue []*caller // arrived, and neither sent nor answered
	trip  *trip     // the call that is out
	since time.Time // the queue waits for more since then
	due   int       // the step in which it was ready to be sent, 0 if it is not
}

// caller is one input and its client.
type caller struct {
	Caller
	index     int
	lane      *lane
	cancel    context.CancelFunc // nil before it arrives
	cancelled bool
	refused   error     // what it must be told at once
	since     time.Time // its arrival
	trip      *trip     // that carries its input
	told      bool      // its answer was looked at

	answered bool
	out      Outcome
	err      error
}

// trip is one call of a ferry.
type trip struct {
	p        *process
	key      string
	ins      []*caller
	ctx      context.Context
	start    time.Time
	step     int
	panicked bool

	ended  bool
	defect Faults
	err    error
}

// operation is one of the store, parked until it is served.
type operation struct {
	t      *trip
	req    simstore.Request
	answer chan answer
}

type answer struct {
	simstore.Answer
	defect Faults
}

var errInjected = errors.New("injected")

func compareOperations(a, b *operation) int {
	return cmp.Or(cmp.Compare(a.t.p.index, b.t.p.index), cmp.Compare(a.req.Key, b.req.Key), cmp.Compare(a.req.Op, b.req.Op),
		slices.Compare(a.req.Log, b.req.Log))
}

// call is what the lanes of a process carry their inputs to.
type call = func(ctx context.Context, key string, ins []*caller) ([]Outcome, error)

// pipeline is the user's code behind the lanes, provided anew for each call so that its operations know the call.
func (s Scenario) pipeline() func(*trip) call {
	commit := fold.New[*backends.Error](func(c *caller) simstore.ID { return c.ID },
		(*trip).read, s.step, (*trip).commit, schedule.Recurs(s.Retries))
	if s.Layout == sim.WholeRecord {
		w := projected.WholeRecord(commit, s.Store.Marker.Pending, (*trip).project)
		return func(t *trip) call { return w.Provide(t).Call }
	}
	return func(t *trip) call {
		call := commit.Provide(t).Call
		return func(ctx context.Context, key string, ins []*caller) ([]Outcome, error) {
			results, err := call(ctx, key, ins)
			outs := make([]Outcome, len(results))
			for i, at := range results {
				outs[i] = Outcome{Status: projected.Committed, Result: at}
			}
			return outs, err
		}
	}
}

func (s Scenario) step(r simstore.Record, c *caller) (simstore.Record, int, bool) {
	if at := slices.Index(r.Log, c.ID); at >= 0 {
		return r, at, false
	}
	at := len(r.Log)
	r.Log = append(slices.Clip(r.Log), c.ID)
	if s.Store.Marker == simstore.Flag {
		r.Marker = 1
	}
	return r, at, true
}

func (t *trip) read(ctx context.Context, key string) (simstore.Record, error) {
	a := t.do(simstore.Request{Op: simstore.Read, Key: key})
	return a.Record, a.Err
}

func (t *trip) commit(ctx context.Context, key string, read, next simstore.Record) (simstore.Record, error) {
	a := t.do(simstore.Request{Op: simstore.Commit, Key: key, Held: read, Log: next.Log})
	return a.Record, a.Err
}

func (t *trip) project(ctx context.Context, key string, held simstore.Record) error {
	return t.do(simstore.Request{Op: simstore.Project, Key: key, Held: held}).Err
}

// do parks until the operation is served. In a world that is over it fails at once.
func (t *trip) do(r simstore.Request) simstore.Answer {
	op := &operation{t: t, req: r, answer: make(chan answer, 1)}
	w := t.p.w
	if w.over.Load() {
		return simstore.Answer{Err: failed(r, backends.ErrRefused)}
	}
	w.tell(func() { w.parked = append(w.parked, op) })
	a := <-op.answer
	switch a.defect {
	case Panic:
		t.panicked = true
		panic(errInjected)
	case Goexit:
		runtime.Goexit()
	}
	return a.Answer
}

func failed(r simstore.Request, class error) error {
	return &backends.Error{Op: r.Op.String(), Key: r.Key, Class: class, Err: errInjected}
}

// call is what the ferry calls. A panic of the store, which the code behind contains, is let loose again here.
func (p *process) call(ctx context.Context, key string, ins []*caller) ([]Outcome, error) {
	t := &trip{p: p, key: key, ins: ins, ctx: ctx, start: time.Now()}
	p.w.begin(t)
	defect := Goexit
	var err error
	defer func() { p.w.end(t, defect, err) }()
	outs, err := p.w.pipeline(t)(ctx, key, ins)
	if t.panicked {
		defect = Panic
		panic(errInjected)
	}
	defect = NoFault
	return outs, err
}

func (p *process) lane(key string) *lane {
	return p.lanes[slices.IndexFunc(p.lanes, func(l *lane) bool { return l.key == key })]
}

// out counts the calls that are out, and queued the inputs that arrived and were neither sent nor answered.
func (p *process) out() (n int) {
	for _, l := range p.lanes {
		if l.trip != nil {
			n++
		}
	}
	return n
}

func (p *process) queued() (n int) {
	for _, l := range p.lanes {
		n += len(l.queue)
	}
	return n
}

func (c *caller) String() string {
	return c.Process + "'s caller " + c.Key + " " + c.ID.String()
}
