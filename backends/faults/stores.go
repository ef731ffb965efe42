package faults

import (
	"cmp"
	"context"
	"iter"

	"github.com/goferry/goferry/backends"
)

// View wraps a store with a view of one object per record. It panics if f or inner is nil, and names it.
func View[K comparable, B any](f *Faults, inner backends.ViewStore[K, B]) backends.ViewStore[K, B] {
	mustWrap("View", f, inner)
	return viewStore[K, B]{store[K, B]{f, inner}, inner}
}

// Rows wraps a store with a view of one row per entry. Each row of a put meets its own fault: it is throttled, lost
// or late on its own, while the others of the put go to the store in one put. It panics if f or inner is nil,
// and names it.
func Rows[K comparable, B any, ID comparable, Row any](f *Faults, inner backends.RowStore[K, B, ID, Row]) backends.RowStore[K, B, ID, Row] {
	mustWrap("Rows", f, inner)
	return rowStore[K, B, ID, Row]{store[K, B]{f, inner}, inner}
}

func mustWrap(by string, f *Faults, inner any) {
	switch {
	case f == nil:
		panic("faults: " + by + ": f is nil")
	case inner == nil:
		panic("faults: " + by + ": inner is nil")
	}
}

// call takes one call there and back.
func call[T any](ctx context.Context, f *Faults, op Op, key any, do func(context.Context) (T, error)) (T, error) {
	var none T
	t := f.begin(op, key)
	if err := t.goThere(ctx); err != nil {
		return none, err
	}
	answer, err := none, t.err()
	switch t.fault {
	case nil:
		answer, err = do(ctx)
	case ErrLost:
		do(ctx)
	case ErrLate:
		f.postpone(t, func() { do(context.WithoutCancel(ctx)) })
	}
	if err := t.goBack(ctx); err != nil {
		return none, err
	}
	return answer, err
}

type store[K comparable, B any] struct {
	f     *Faults
	inner backends.Store[K, B]
}

func (s store[K, B]) Read(ctx context.Context, key K) (backends.Record[B], error) {
	return call(ctx, s.f, Read, key, func(ctx context.Context) (backends.Record[B], error) {
		return s.inner.Read(ctx, key)
	})
}

func (s store[K, B]) Commit(ctx context.Context, key K, read, next backends.Record[B]) (backends.Record[B], error) {
	return call(ctx, s.f, Commit, key, func(ctx context.Context) (backends.Record[B], error) {
		return s.inner.Commit(ctx, key, read, next)
	})
}

// PendingKeys is not a call of the others' kind: it goes on yielding, and is lost halfway.
func (s store[K, B]) PendingKeys(ctx context.Context) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		var none K
		t := s.f.begin(List, nil)
		if err := t.goThere(ctx); err != nil {
			yield(none, err)
			return
		}
		if t.arrives() {
			left := int(t.draw * 8)
			for key, err := range s.inner.PendingKeys(ctx) {
				if t.fault == ErrLost && left == 0 {
					break
				}
				if !yield(key, err) {
					return
				}
				left--
			}
		}
		if err := cmp.Or(t.goBack(ctx), t.err()); err != nil {
			yield(none, err)
		}
	}
}

type viewStore[K comparable, B any] struct {
	store[K, B]
	inner backends.ViewStore[K, B]
}

func (s viewStore[K, B]) Project(ctx context.Context, key K, record backends.Record[B]) error {
	_, err := call(ctx, s.f, Project, key, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.inner.Project(ctx, key, record)
	})
	return err
}

type rowStore[K comparable, B any, ID comparable, Row any] struct {
	store[K, B]
	inner backends.RowStore[K, B, ID, Row]
}

func (s rowStore[K, B, ID, Row]) Missing(ctx context.Context, key K, record backends.Record[B]) ([]ID, error) {
	return call(ctx, s.f, Missing, key, func(ctx context.Context) ([]ID, error) {
		return s.inner.Missing(ctx, key, record)
	})
}

func (s rowStore[K, B, ID, Row]) Clear(ctx context.Context, key K, record backends.Record[B]) error {
	_, err := call(ctx, s.f, Clear, key, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.inner.Clear(ctx, key, record)
	})
	return err
}
