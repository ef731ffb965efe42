package fold

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/goferry/goferry/schedule"
)

// FoldWrite is the round trip of a store with one fenced write per key. Its functions are the user's; the
// environment R (a store, a connection pool) comes first, where a receiver stands, so that method expressions such
// as Store.Read fit as they are.
//
// R is the environment, E the typed failure that is retried, K a key, I an input, ID an input's identity, S the
// record of a key and O what Step answers to an input.
//
// The zero value is not usable: make one with [New], or fill in every function. A FoldWrite is immutable and may be
// used by any number of goroutines.
type FoldWrite[R any, E error, K comparable, I any, ID comparable, S, O any] struct {
	// ID is the identity of an input. FoldWrite itself compares no identities: Step finds a replay in the record.
	// It is here for whoever answers inputs by their identity, such as the projected package.
	ID func(in I) ID

	// Read answers the record of key with the fence that Write compares, or the zero record for a key that the
	// store does not hold.
	Read func(env R, ctx context.Context, key K) (S, error)

	// Step folds one input into record. It must be pure: it is called again after a conflict. It answers the
	// next record, the input's answer, and whether the record changed; next is ignored when it did not. It never
	// changes record in place (records may share memory), and it must find an input that record already
	// holds and answer it without applying it again: that is what makes a retry safe.
	Step func(record S, in I) (next S, out O, changed bool)

	// Write stores next only if the store still holds read, and answers the record as stored, its new fence
	// included. An error that has, or wraps one that has, a method NotWritten() bool answering true says
	// that nothing was written (a conflict, a refusal). Any other error means that the write may have happened,
	// or may still happen.
	Write func(env R, ctx context.Context, key K, read, next S) (stored S, err error)

	// Retry says when a typed failure is tried again, from a new read. The zero value never retries.
	Retry schedule.Schedule

	_ struct{}
}

// New makes a FoldWrite. E, the typed failure, stands in no function's signature, so it is the one type argument
// to write out: New[*StoreError](...). New panics if a function is nil, and names it.
func New[E error, R any, K comparable, I any, ID comparable, S, O any](
	id func(I) ID,
	read func(R, context.Context, K) (S, error),
	step func(S, I) (S, O, bool),
	write func(R, context.Context, K, S, S) (S, error),
	retry schedule.Schedule,
) FoldWrite[R, E, K, I, ID, S, O] {
	f := FoldWrite[R, E, K, I, ID, S, O]{ID: id, Read: read, Step: step, Write: write, Retry: retry}
	f.mustBeWhole()
	return f
}

func (f FoldWrite[R, E, K, I, ID, S, O]) mustBeWhole() {
	switch {
	case f.ID == nil:
		panic("fold: FoldWrite.ID is nil")
	case f.Read == nil:
		panic("fold: FoldWrite.Read is nil")
	case f.Step == nil:
		panic("fold: FoldWrite.Step is nil")
	case f.Write == nil:
		panic("fold: FoldWrite.Write is nil")
	}
}

// Provided is a FoldWrite with its environment. Its zero value is not usable.
type Provided[K comparable, I, O any] struct {
	call func(context.Context, K, []I) ([]O, error)
}

// Provide gives the functions of f their environment. It panics if one of them is nil, and names it.
func (f FoldWrite[R, E, K, I, ID, S, O]) Provide(env R) Provided[K, I, O] {
	f.mustBeWhole()
	return Provided[K, I, O]{call: func(ctx context.Context, key K, inputs []I) ([]O, error) {
		_, outs, err := f.Run(env, ctx, key, inputs)
		return outs, err
	}}
}

// Call folds inputs into the record of key with one read and at most one write per attempt. The n-th answer
// belongs to the n-th input. It blocks until the write is answered or the retries end. Its error is a [*Error]
// with the outcome of the whole batch: it holds for every input. Without inputs it does nothing.
// It may be called by any number of goroutines at once; the store's fence keeps them apart.
func (p Provided[K, I, O]) Call(ctx context.Context, key K, inputs []I) ([]O, error) {
	return p.call(ctx, key, inputs)
}

// Run is [Provided.Call] with the environment as an argument, for who builds further phases on the same
// record: it also answers the record as Write stored it, or as it was read if no input changed it.
func (f FoldWrite[R, E, K, I, ID, S, O]) Run(env R, ctx context.Context, key K, inputs []I) (record S, outs []O, err error) {
	outs, err = f.run(env, ctx, key, inputs, &record)
	return record, outs, err
}

// run is Run with a place for the record: records may be large, and are copied as little as can be.
func (f *FoldWrite[R, E, K, I, ID, S, O]) run(env R, ctx context.Context, key K, inputs []I, record *S) (outs []O, err error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	at := Error{Phase: Reading}
	defer func() {
		// One place for all user functions: a panic is never retried, so it may end the whole run.
		if v := recover(); v != nil {
			at.Unknown = at.Unknown || at.Phase == Writing
			outs, err = nil, at.around(key, &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	outs = make([]O, len(inputs))
	_, err = schedule.RetryFailures[E](ctx, f.Retry, func(ctx context.Context) (_ struct{}, err error) {
		at.Attempts++
		return struct{}{}, f.attempt(env, ctx, key, inputs, outs, record, &at)
	})
	if err != nil {
		return nil, at.around(key, err)
	}
	return outs, nil
}

// attempt is one round trip. It notes in at how far it came, for the error and for a panic.
func (f *FoldWrite[R, E, K, I, ID, S, O]) attempt(env R, ctx context.Context, key K, inputs []I, outs []O, record *S, at *Error) (err error) {
	at.Phase = Reading
	if *record, err = f.Read(env, ctx, key); err != nil {
		return err
	}
	at.Phase = Stepping
	next := *record
	if !f.fold(&next, inputs, outs) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	at.Phase = Writing
	*record, err = f.Write(env, ctx, key, *record, next)
	if err != nil && !notWritten(err) {
		at.Unknown = true
	}
	return err
}

// fold steps through inputs from record on, and answers whether any of them changed it.
func (f *FoldWrite[R, E, K, I, ID, S, O]) fold(record *S, inputs []I, outs []O) (changed bool) {
	now := *record // In here: the compiler copies it twice more for every input if it is behind a pointer.
	for i, in := range inputs {
		next, out, ch := f.Step(now, in)
		outs[i] = out
		if ch {
			now, changed = next, true
		}
	}
	if changed {
		*record = now
	}
	return changed
}

func notWritten(err error) bool {
	e, ok := errors.AsType[interface {
		error
		NotWritten() bool
	}](err)
	return ok && e.NotWritten()
}
