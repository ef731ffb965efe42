package projected

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/schedule"
)

// Projection is what a projection left pending: each entry whose row is not in the view, and why.
// Empty (or nil) is complete: every row is in the view and the marker is cleared.
type Projection[ID comparable] = map[ID]error

// ProjectedWrite is a store's round trip in two writes: the commit, which is a FoldWrite, and the projection. Its
// functions are the user's, with the environment R where a receiver stands. The type parameters are those of
// [fold.FoldWrite].
//
// The zero value is not usable: make one with [New], [WholeRecord], or fill in every function. A ProjectedWrite is
// immutable and may be used by any number of goroutines.
type ProjectedWrite[R any, E error, K comparable, I any, ID comparable, S, O any] struct {
	// Fold is the commit. It must never move the stored marker backwards: leave it as stored, or fence the
	// commit on the whole record read, marker included. Its schedule also drives the re-read projection.
	Fold fold.FoldWrite[R, E, K, I, ID, S, O]

	// Pending says whether a record, as read or as committed, has a projection to write. It is pure, and false
	// for the zero record.
	Pending func(record S) bool

	// Project brings the view of record up to date and clears the marker, and answers which entries it left
	// pending. Both must hold for record alone: Project has no inputs. The clear must succeed only if the
	// store still holds record, its fence and its marker. For one row per entry, [Rows] builds it.
	//
	// An answer that lists entries is a verdict, which the call does not retry. A typed failure is
	// retried from a new read.
	Project func(env R, ctx context.Context, key K, record S) (Projection[ID], error)

	// Reserve is the part of a call's remaining time that is kept for the projection: the commit runs under the
	// call's deadline minus Reserve, so that a slow commit does not turn every answer into Committed.
	// 0 is a quarter of the time left at the call. It is never more than half of it, and a negative Reserve is
	// refused. A call without a deadline has no use for it.
	Reserve time.Duration

	_ struct{}
}

// New makes a ProjectedWrite for a view of one row per entry. It panics if a function is nil, and names it.
func New[R any, E error, K comparable, I any, ID comparable, S, O any](
	fold fold.FoldWrite[R, E, K, I, ID, S, O],
	pending func(S) bool,
	project func(R, context.Context, K, S) (Projection[ID], error),
) ProjectedWrite[R, E, K, I, ID, S, O] {
	w := ProjectedWrite[R, E, K, I, ID, S, O]{Fold: fold, Pending: pending, Project: project}
	w.mustBeWhole()
	return w
}

// WholeRecord makes a ProjectedWrite for a view of one object per record. project writes the whole view and clears
// the marker in one write, only if the store still holds that record, and fails otherwise; so nothing is ever
// listed as pending. It panics if a function is nil, and names it.
func WholeRecord[R any, E error, K comparable, I any, ID comparable, S, O any](
	fold fold.FoldWrite[R, E, K, I, ID, S, O],
	pending func(S) bool,
	project func(R, context.Context, K, S) error,
) ProjectedWrite[R, E, K, I, ID, S, O] {
	if project == nil {
		panic("projected: ProjectedWrite.Project is nil")
	}
	return New(fold, pending, func(env R, ctx context.Context, key K, record S) (Projection[ID], error) {
		return nil, project(env, ctx, key, record)
	})
}

func (w ProjectedWrite[R, E, K, I, ID, S, O]) mustBeWhole() {
	switch {
	case w.Pending == nil:
		panic("projected: ProjectedWrite.Pending is nil")
	case w.Project == nil:
		panic("projected: ProjectedWrite.Project is nil")
	case w.Reserve < 0:
		panic("projected: ProjectedWrite.Reserve is negative")
	}
}

// Provided is a ProjectedWrite with its environment. Its zero value is not usable.
// Its methods may be called by any number of goroutines and processes at once: the store's fences keep them apart,
// and nothing is kept between calls.
type Provided[E error, K comparable, I any, ID comparable, O any] struct {
	call   func(context.Context, K, []I) ([]Outcome[E, O], error)
	resume func(context.Context, K) (Projection[ID], error)
}

// Provide gives the functions of w their environment. It panics if one of them is nil, and names it.
func (w ProjectedWrite[R, E, K, I, ID, S, O]) Provide(env R) Provided[E, K, I, ID, O] {
	w.Fold.Provide(env) // Refuses a literal with a nil function.
	w.mustBeWhole()
	b := &bound[R, E, K, I, ID, S, O]{w: w, env: env}
	return Provided[E, K, I, ID, O]{call: b.call, resume: b.resume}
}

// Call commits inputs to the record of key, projects the record as committed, and answers each input on its own:
// the n-th outcome belongs to the n-th input. It blocks until the projection is settled or the context ends.
//
// It fails only when the commit is not known to have happened, with the [*fold.Error] of the commit. Once the
// commit has happened every input has an outcome, [Projected] or [Committed], whatever becomes of the projection:
// a failure, a panic or an ended context is the cause in the outcome.
//
// A projection that fails with an E is resumed: read again, and projected if still pending, as often as the
// schedule of Fold allows. Inputs that the record already held finish a pending projection too.
func (p Provided[E, K, I, ID, O]) Call(ctx context.Context, key K, inputs []I) ([]Outcome[E, O], error) {
	return p.call(ctx, key, inputs)
}

// Resume finishes what was interrupted: it reads the record of key and projects it if it is pending, retried with
// the schedule of Fold. It does nothing when nothing is pending. It answers the entries that are still pending;
// with an error nothing is known of them. It is safe anywhere and any time: beside batches of the key, in several
// sweepers, in other processes. It blocks until the projection is settled, the retries end or ctx ends.
func (p Provided[E, K, I, ID, O]) Resume(ctx context.Context, key K) (Projection[ID], error) {
	left, err := p.resume(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("projected: resume %v: %w", key, err)
	}
	return left, nil
}

type bound[R any, E error, K comparable, I any, ID comparable, S, O any] struct {
	w   ProjectedWrite[R, E, K, I, ID, S, O]
	env R
}

func (b *bound[R, E, K, I, ID, S, O]) call(ctx context.Context, key K, inputs []I) ([]Outcome[E, O], error) {
	record, outs, err := b.commit(ctx, key, inputs)
	if err != nil {
		return nil, err
	}
	left, cause := b.project(ctx, key, &record)
	if isFailure[E](ctx, cause) {
		left, cause = b.resume(ctx, key)
	}
	outcomes := make([]Outcome[E, O], len(outs))
	for i, out := range outs {
		outcomes[i].Status, outcomes[i].Result = Projected, out
		err := cause
		if err == nil && len(left) > 0 {
			err = b.causeOf(inputs[i], left)
		}
		if err != nil {
			outcomes[i].Status, outcomes[i].Err = Committed, err
		}
	}
	return outcomes, nil
}

// commit runs the fold under the call's deadline minus the reserve. One cancel reaches both phases.
func (b *bound[R, E, K, I, ID, S, O]) commit(ctx context.Context, key K, inputs []I) (S, []O, error) {
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		reserve := b.w.Reserve
		if reserve == 0 {
			reserve = left / 4
		}
		within, cancel := context.WithDeadline(ctx, deadline.Add(-min(reserve, left/2)))
		defer cancel()
		ctx = within
	}
	return b.w.Fold.Run(b.env, ctx, key, inputs)
}

// project is one projection of record, if it is pending. A panic is its error.
func (b *bound[R, E, K, I, ID, S, O]) project(ctx context.Context, key K, record *S) (left Projection[ID], err error) {
	defer fold.Recover(&err)
	return b.tryProject(ctx, key, record)
}

// visit is one attempt of resume. A panic is its error.
func (b *bound[R, E, K, I, ID, S, O]) visit(ctx context.Context, key K) (left Projection[ID], err error) {
	defer fold.Recover(&err)
	return b.tryVisit(ctx, key)
}

// resume is visit with retries. A panic, which may also come from a function of the schedule, ends it.
func (b *bound[R, E, K, I, ID, S, O]) resume(ctx context.Context, key K) (left Projection[ID], err error) {
	defer fold.Recover(&err)
	return schedule.RetryFailures[E](ctx, b.w.Fold.Retry, func(ctx context.Context) (Projection[ID], error) {
		return b.tryVisit(ctx, key)
	})
}

func (b *bound[R, E, K, I, ID, S, O]) tryVisit(ctx context.Context, key K) (Projection[ID], error) {
	record, err := b.w.Fold.Read(b.env, ctx, key)
	if err != nil {
		return nil, err
	}
	return b.tryProject(ctx, key, &record)
}

// tryProject has a pointer, for records may be large.
func (b *bound[R, E, K, I, ID, S, O]) tryProject(ctx context.Context, key K, record *S) (Projection[ID], error) {
	if !b.w.Pending(*record) {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return b.w.Project(b.env, ctx, key, *record)
}

// causeOf answers why in is still pending, nil if it is not. A panic of the user's ID is such a cause, too: after
// the commit nothing fails the call.
func (b *bound[R, E, K, I, ID, S, O]) causeOf(in I, left Projection[ID]) (cause error) {
	defer fold.Recover(&cause)
	cause, listed := left[b.w.Fold.ID(in)]
	if listed && cause == nil {
		return ErrNoCause
	}
	return cause
}

// isFailure says whether the projection failed in a way that resuming may mend. The order matters: a panic, then
// the context, then E, which may be so wide that it takes in the other two.
func isFailure[E error](ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	if _, panicked := errors.AsType[*fold.PanicError](err); panicked {
		return false
	}
	_, typed := errors.AsType[E](err)
	return typed
}
