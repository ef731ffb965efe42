package ferry

import (
	"context"
	"reflect"
	"runtime/debug"
	"sync"
	"time"
)

// Ferry carries inputs to a call in batches, one lane per key. Make one with [PerKey] or [PerKeyWeighed]; the zero
// value is not usable. Its methods may be called by any number of goroutines at once.
type Ferry[K comparable, I, O any] struct {
	cfg   Config // with its defaults
	keyOf func(I) K
	weigh func(I) int
	call  func(context.Context, K, []I) ([]O, error)

	clock     clock
	checkHash bool      // K may hold a value that cannot be hashed
	idle      sync.Pool // of *waiter, whose callers have their answers
	batches   sync.Pool // of *batch, likewise

	// One lock guards all that follows and every lane, waiter and batch, unless their fields say otherwise. It is
	// held for a few steps of pointers at a time, never while user code runs.
	mu       sync.Mutex
	lanes    map[K]*lane[K, I, O]      // those with an input accepted, waiting or in flight
	peak     int                       // the most lanes since the map was made
	spare    []*lane[K, I, O]          // forgotten, to be used again
	ready    list[*lane[K, I, O]]      // wait for a slot, first come, first served
	linger   timeline[*lane[K, I, O]]  // wait for their linger to end
	flying   timeline[*batch[K, I, O]] // in flight, until answered
	line     list[*waiter[K, I, O]]    // wait for room within a shared bound
	queued   int                       // inputs accepted and not yet handed to a call
	weight   int                       // of those
	refused  map[Bound]uint64
	sketch   sketch[K]
	closing  bool
	gaveUp   bool          // Close has ended before the last call returned
	drained  chan struct{} // closed when closing and no lane is left
	workers  workers
	inFlight int // calls out, the slots in use
}

// PerKey makes a ferry that carries inputs to call, batch by batch for each key.
//
// call gets a batch of inputs of one key, in the order of their acceptance, and answers one output for each, in the
// same order. The slice of inputs is its own to keep. Its context ends after Config.BatchTimeout, when Close gives
// up, and when the call has returned; its values are those of the first caller in the batch, and [Callers]
// answers every caller's. An error of call is every caller's error.
//
// PerKey panics if a function is nil or cfg is not valid, and names the field.
func PerKey[K comparable, I, O any](cfg Config, keyOf func(I) K, call func(context.Context, K, []I) ([]O, error)) *Ferry[K, I, O] {
	return PerKeyWeighed(cfg, keyOf, func(I) int { return 0 }, call)
}

// PerKeyWeighed is [PerKey] with inputs that weigh something, such as bytes: Config.MaxWeight and
// Config.MaxQueuedWeight bound the sums.
func PerKeyWeighed[K comparable, I, O any](cfg Config, keyOf func(I) K, weigh func(I) int, call func(context.Context, K, []I) ([]O, error)) *Ferry[K, I, O] {
	switch {
	case keyOf == nil:
		panic("ferry: PerKey: keyOf is nil")
	case weigh == nil:
		panic("ferry: PerKeyWeighed: weigh is nil")
	case call == nil:
		panic("ferry: PerKey: call is nil")
	}
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	f := &Ferry[K, I, O]{
		cfg:       cfg.withDefaults(),
		keyOf:     keyOf,
		weigh:     weigh,
		call:      call,
		clock:     clock{time.Now()},
		checkHash: mayNotHash(reflect.TypeFor[K]()),
		lanes:     map[K]*lane[K, I, O]{},
		refused:   map[Bound]uint64{},
		drained:   make(chan struct{}),
	}
	f.idle.New = func() any { return newWaiter[K, I, O]() }
	f.batches.New = func() any { return &batch[K, I, O]{} }
	f.linger.start(&f.mu, f.clock, f.cfg.Linger, f.endLinger)
	longest := f.cfg.BatchTimeout + f.cfg.CancelGrace
	if f.cfg.BatchTimeout > 0 && f.cfg.CancelGrace >= 0 && longest > 0 { // A sum that wraps around is never over.
		f.flying.start(&f.mu, f.clock, longest, f.abandon)
	}
	f.workers.mu = &f.mu
	return f
}

// Submit hands in to the lane of its key and blocks until it is answered or ctx ends. Inputs of one key reach the
// call in the order of their acceptance.
//
// Its error is an [*Error] that says whether the input was sent; see also [NotSent]. A caller that leaves before its
// input is handed to a call takes it back. One that leaves later returns at once, and the outcome is unknown.
// If the answer is there when ctx ends, the answer wins.
func (f *Ferry[K, I, O]) Submit(ctx context.Context, in I) (O, error) {
	w, err := f.enqueue(ctx, in)
	if err != nil {
		var none O
		return none, err
	}
	return f.await(w)
}

// SubmitAll submits every input, in order and before it waits for the first answer, so that those of one key share
// batches. The n-th output and error belong to the n-th input. It is not atomic: each input is accepted,
// refused and answered on its own. With [WaitUpTo], an input is refused once its time is up and those before it are
// answered.
func (f *Ferry[K, I, O]) SubmitAll(ctx context.Context, ins []I) ([]O, []error) {
	waiters, outs, errs := make([]*waiter[K, I, O], len(ins)), make([]O, len(ins)), make([]error, len(ins))
	for i, in := range ins {
		waiters[i], errs[i] = f.enqueue(ctx, in)
	}
	for i, w := range waiters {
		if errs[i] == nil {
			outs[i], errs[i] = f.await(w)
		}
	}
	return outs, errs
}

// enqueue answers the waiter of in, accepted or in a line, or why it was not taken.
func (f *Ferry[K, I, O]) enqueue(ctx context.Context, in I) (*waiter[K, I, O], error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Err: err}
	}
	key, weight, err := f.describe(in)
	if err != nil {
		return nil, &Error{Err: err}
	}
	switch {
	case key != key:
		return nil, &Error{Key: key, Err: ErrKey}
	case weight < 0 || weight > f.cfg.MaxWeight || weight > f.cfg.MaxQueuedWeight:
		return nil, &Error{Key: key, Err: ErrWeight}
	case ctx.Value(f) != nil:
		return nil, &Error{Key: key, Err: ErrReentrant}
	}
	w := f.idle.Get().(*waiter[K, I, O])
	w.ctx, w.in, w.weight, w.node.since = ctx, in, weight, f.clock.now()
	f.mu.Lock()
	err = f.arrive(w, key)
	f.mu.Unlock()
	if err != nil {
		f.recycle(w)
		f.cfg.Observer.overloaded(key, err)
		return nil, &Error{Key: key, Err: err}
	}
	return w, nil
}

// describe runs the user's functions on in. Their panic is the error.
func (f *Ferry[K, I, O]) describe(in I) (key K, weight int, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	key, weight = f.keyOf(in), f.weigh(in)
	if f.checkHash && !hashable(key) {
		return key, 0, ErrKey
	}
	return key, weight, nil
}

func hashable[K any](key K) bool { return reflect.ValueOf(&key).Elem().Comparable() }

// mayNotHash says whether a value of a comparable type can be unhashable all the same: only an interface in it can.
func mayNotHash(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Array:
		return mayNotHash(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if mayNotHash(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
