package kit

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/goferry/goferry/internal/proxy"
)

// Wire is a store whose client talks to its server through a proxy, and the same data beside it.
type Wire struct {
	Proxy *proxy.Proxy
	// Far is through the proxy, and Near is not.
	Far, Near *Store
	// Faults, Unknown, Landed and Definite count calls that met a fault, and what became of them.
	Faults, Unknown, Landed, Definite int
}

const (
	// wait is how long a call under a fault may take before its caller leaves.
	wait = time.Second
	// limit is how long what must happen may take.
	limit = 15 * time.Second
	// cuts is how often the connections of the load are cut.
	cuts = 100
)

// fate is what happens to the connections of one call. landed says whether the call has been done.
type fate struct {
	name string
	meet func(p *proxy.Proxy, call func(context.Context) error, landed func() bool) error
}

var fates = []fate{
	{"its request is lost", func(p *proxy.Proxy, call func(context.Context) error, _ func() bool) error {
		p.Arm(proxy.LoseRequest)
		return within(call)
	}},
	{"its reply is lost", func(p *proxy.Proxy, call func(context.Context) error, landed func() bool) error {
		p.Judge(proxy.Only(proxy.Server, proxy.Drop))
		return within(func(ctx context.Context) error {
			answer := make(chan error, 1)
			go func() { answer <- call(ctx) }()
			awaitLanding(ctx, answer, landed)
			p.Judge(nil)
			p.Cut()
			return <-answer
		})
	}},
	{"its reply never comes", func(p *proxy.Proxy, call func(context.Context) error, landed func() bool) error {
		p.Judge(proxy.Only(proxy.Server, proxy.Drop))
		return within(func(ctx context.Context) error {
			ctx, leave := context.WithCancel(ctx)
			answer := make(chan error, 1)
			go func() { answer <- call(ctx) }()
			awaitLanding(ctx, answer, landed)
			leave()
			return <-answer
		})
	}},
	{"its server is down", func(p *proxy.Proxy, call func(context.Context) error, _ func() bool) error {
		p.Down(true)
		return within(call)
	}},
	{"its connection is slow", func(p *proxy.Proxy, call func(context.Context) error, _ func() bool) error {
		p.Slow(time.Millisecond)
		return within(call)
	}},
}

// errHangs is the answer of a call that has none.
var errHangs = errors.New("the call has not returned")

func within(call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- call(ctx) }()
	select {
	case err := <-answer:
		return err
	case <-time.After(limit):
		return errHangs
	}
}

// awaitLanding also returns when the call has been answered, or will hardly land: a statement was still to be prepared.
func awaitLanding(ctx context.Context, answer chan error, landed func() bool) {
	ctx, cancel := context.WithTimeout(ctx, wait/4)
	defer cancel()
	for ctx.Err() == nil && len(answer) == 0 && !landed() {
		pause(ctx)
	}
}

// Harm has every kind of write meet every fate, and holds what it answered against the truth.
func (w *Wire) Harm(ctx context.Context) *Violation {
	kinds := []Kind{Commit, Commit, Project}
	if w.Far.Rows != nil {
		kinds = []Kind{Commit, Commit, Put, Clear}
	}
	if w.Far.Delete != nil {
		kinds = append(kinds, Delete)
	}
	for _, f := range fates {
		v := &victim{session: newSession(insistent(w.Near)), w: w, fate: f}
		for _, kind := range kinds {
			if v.meet(ctx, kind); v.broken != nil {
				return v.broken
			}
		}
	}
	return nil
}

// victim is a key whose writes meet a fate.
type victim struct {
	*session
	w       *Wire
	fate    fate
	inputs  int   // that were used
	refused []any // identities that were answered as not written, and never submitted again
}

// meet has one write meet the fate, and then makes up for it without one.
func (v *victim) meet(ctx context.Context, kind Kind) {
	if v.warm(ctx); v.broken != nil {
		return
	}
	record, err := insistent(v.w.Far).Read(ctx, v.key)
	if err != nil {
		v.broke(GoesOn, "after a call of which %s, reads fail: %v", v.fate.name, err)
		return
	}
	if v.look(ctx); v.broken != nil {
		return
	}
	before := v.state
	op := v.op(kind, record)
	err = v.fate.meet(v.w.Proxy, func(ctx context.Context) error { return run(ctx, op) }, v.changed(ctx))
	v.w.Proxy.Calm()
	v.look(ctx)
	step := Step{Who: "client", Op: string(kind), IDs: op.IDs, Event: v.fate.name, After: v.state}
	step.Answer, step.Answered = answerOf(op, err)
	v.history.Steps = append(v.history.Steps, step)
	if v.broken == nil {
		v.judge(op, before, err)
	}
	if kind == Delete {
		before.Log, before.View = nil, nil // As it was, or gone.
	}
	if v.broken == nil {
		v.checkState(before)
	}
	v.makeUp(ctx, kind)
}

// changed answers a function that says whether the key is not as it was.
func (v *victim) changed(ctx context.Context) func() bool {
	return func() bool {
		now := session{store: v.store, key: v.key, state: v.state, history: v.history}
		now.look(ctx)
		return now.broken == nil && (now.state.stamp != v.state.stamp || len(now.state.View) != len(v.state.View))
	}
}

// op is a write on the record that was read.
func (v *victim) op(kind Kind, record any) Op {
	far := v.w.Far
	switch kind {
	case Commit:
		next, _ := far.Step(record, v.key, v.inputs)
		v.inputs++
		return capture(func(do Do) { far.write(do, context.Background(), v.key, record, next) })
	case Put:
		return far.putOp(v.key, record, far.Want(record))
	case Clear:
		return capture(func(do Do) { far.clear(do, context.Background(), v.key, record) })
	case Delete:
		return far.deleteOp(v.key, record)
	}
	return capture(func(do Do) { far.Project(do, context.Background(), v.key, record) })
}

// capture answers the first operation instead of performing it.
func capture(perform func(Do)) (op Op) {
	perform(func(_ context.Context, first Op) error { op = first; return errDead })
	return op
}

func (v *victim) judge(op Op, before State, err error) {
	v.w.Faults++
	landed := before.stamp != v.state.stamp || len(before.View) != len(v.state.View)
	switch {
	case err == nil:
		v.checkSuccess("the client", op, before.stamp, before)
		return
	case err == errHangs:
		v.broke(GoesOn, "a %s, of which %s, has not returned for %v after its context has ended", op.Kind, v.fate.name, limit-wait)
	case notWritten(err) && landed:
		v.broke(Definite, "a %s, of which %s, was answered with certainty that nothing was written (%s), and it was", op.Kind, v.fate.name, firstLine(err))
	case notWritten(err):
		v.w.Definite++
		if op.Kind == Commit {
			v.refused = append(v.refused, v.store.ID(v.key, v.inputs-1))
		}
	default:
		v.w.Unknown++
	}
	if landed {
		v.w.Landed++
	}
	for _, id := range v.refused {
		if contains(v.state.Log, []any{id}) {
			v.broke(Definite, "the commit of %q was answered with certainty that nothing was written, and landed later", id)
		}
	}
}

// makeUp does what the write was for, with another input.
func (v *victim) makeUp(ctx context.Context, kind Kind) {
	if v.broken != nil || kind == Delete {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var err error
	switch kind {
	case Commit:
		_, err = v.w.Far.Call(onlyCommit, patient, ctx, v.key, []int{v.inputs})
		v.inputs++
	case Put:
	default:
		_, err = v.w.Far.Resume(Direct, patient, ctx, v.key)
	}
	if err != nil {
		v.broke(GoesOn, "after a %s of which %s, calls fail: %v", kind, v.fate.name, err)
	}
}

// warm makes every kind of call once, on a key of its own, so that the fate does not hit a preparation.
func (v *victim) warm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	key := v.store.NewKey()
	for n := range 2 {
		if _, err := v.w.Far.Call(Direct, patient, ctx, key, []int{n}); err != nil {
			v.broke(GoesOn, "a call through connections on which all is well failed: %v", err)
			return
		}
	}
	if v.w.Far.Delete != nil {
		if record, err := insistent(v.w.Far).Read(ctx, key); err == nil {
			v.w.Far.Delete(ctx, key, record)
		}
	}
}

// Cut has writers write while their connections are cut again and again, in the middle of anything.
func (w *Wire) Cut(ctx context.Context, witness *Witness, random *rand.Rand) *Violation {
	writing := newLoad(ctx, w.Far, witness)
	v := writing.await(20)
	var made atomic.Int64
	w.Proxy.Judge(proxy.Cutter(random, 50, &made))
	for v == nil && made.Load() < cuts {
		v = writing.await(1)
	}
	w.Proxy.Calm()
	if v == nil {
		v = writing.await(20)
	}
	return witness.conclude(ctx, writing, v, w.Near)
}

// Kills has writers write to a server that is killed and started again three times.
func Kills(ctx context.Context, store *Store, witness *Witness, kill, restart func()) (v *Violation) {
	writing := newLoad(ctx, store, witness)
	defer writing.end() // Also when kill fails the test.
	for n := 0; n < 3 && v == nil; n++ {
		if v = writing.await(100); v == nil {
			kill()
			restart()
			v = writing.await(100)
		}
	}
	return witness.conclude(ctx, writing, v, store)
}

// conclude ends a load, and checks what it has left unless something was wrong before.
func (w *Witness) conclude(ctx context.Context, writing *load, v *Violation, store *Store) *Violation {
	acks, hanging := writing.end()
	w.Acked(acks...)
	for _, v := range []*Violation{v, hanging} {
		if v != nil {
			return v
		}
	}
	return w.Check(ctx, insistent(store))
}

// insistent is a store that reads again when a read has failed: its connection may have been lost. What could not be read is
// not absent.
func insistent(store *Store) *Store {
	s := *store
	s.Read = func(ctx context.Context, key any) (record any, err error) {
		err = insist(ctx, func() (err error) { record, err = store.Read(ctx, key); return err })
		return record, err
	}
	s.View = func(ctx context.Context, key any) (view []any, err error) {
		err = insist(ctx, func() (err error) { view, err = store.View(ctx, key); return err })
		return view, err
	}
	s.PendingKeys = func(ctx context.Context) iter.Seq2[any, error] {
		var keys []any
		err := insist(ctx, func() (err error) { keys, err = collect(store.PendingKeys(ctx)); return err })
		return func(yield func(any, error) bool) {
			for _, key := range keys {
				if !yield(key, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	}
	return &s
}

func insist(ctx context.Context, read func() error) error {
	err := read()
	for deadline := time.Now().Add(limit); err != nil && ctx.Err() == nil && time.Now().Before(deadline); err = read() {
		pause(ctx)
	}
	return err
}

func collect(listing iter.Seq2[any, error]) (keys []any, err error) {
	for key, err := range listing {
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}
