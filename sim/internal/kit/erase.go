package kit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Subject is what a user says of a store, whatever its view is.
type Subject[R any, E error, K comparable, I any, ID comparable, S, O any] struct {
	Fold    fold.FoldWrite[R, E, K, I, ID, S, O]
	Pending func(S) bool
	Failure func() E
	Key     func(n int) K
	Input   func(key K, n int) I
	Log     func(S) []ID
	View    func(R, context.Context, K) ([]ID, error)
	Keys    func(R, context.Context) iter.Seq2[K, error]

	// Of and the three after it are nil for a view of one object per record, and Project is nil for rows. Of answers
	// the entries that have a row, and Put is given entries.
	Project func(R, context.Context, K, S) (projected.Projection[ID], error)
	Of      func(S) []ID
	Missing func(R, context.Context, K, S) ([]ID, error)
	Put     func(R, context.Context, K, S, []ID) []error
	Clear   func(R, context.Context, K, S) error

	Delete func(R, context.Context, K, S) error

	keys  int // given out
	known map[K]int
}

// Prepare is to be called once, before the first store is opened. Its error is one of the user's functions.
func (s *Subject[R, E, K, I, ID, S, O]) Prepare() error {
	s.known = map[K]int{}
	if _, ok := errors.AsType[E](error(s.Failure())); !ok {
		return errors.New("failure answers no failure of the type that the fold retries")
	}
	key, ids := s.Key(0), map[ID]int{}
	for n := range 64 {
		id := s.Fold.ID(s.Input(key, n))
		if before, ok := ids[id]; ok {
			return fmt.Errorf("input(key, %d) and input(key, %d) have the same identity", before, n)
		}
		ids[id] = n
	}
	return nil
}

// NumberedKey answers each key once, with its number, whatever store it is for: stores may share their data.
func (s *Subject[R, E, K, I, ID, S, O]) NumberedKey() (n int, key any) {
	n = s.keys
	typed := s.Key(n)
	if before, ok := s.known[typed]; ok {
		panic(fmt.Sprintf("sim: key(%d) and key(%d) are the same", before, n))
	}
	s.known[typed] = n
	s.keys++
	return n, typed
}

func (s *Subject[R, E, K, I, ID, S, O]) newKey() any {
	_, key := s.NumberedKey()
	return key
}

// rows says whether the view has one row per entry.
func (s *Subject[R, E, K, I, ID, S, O]) rows() bool { return s.Project == nil }

// Open is the store env as the kit sees it.
func (s *Subject[R, E, K, I, ID, S, O]) Open(env R) *Store {
	ids := func(record any) []any { return erased(s.Log(record.(S))) }
	store := &Store{
		NewKey: s.newKey,
		ID:     func(key any, n int) any { return s.Fold.ID(s.Input(key.(K), n)) },
		Step: func(record, key any, n int) (any, bool) {
			next, _, changed := s.Fold.Step(record.(S), s.Input(key.(K), n))
			return next, changed
		},
		Pending: func(record any) bool { return s.Pending(record.(S)) },
		Log:     ids,
		Want:    ids,
		Read: func(ctx context.Context, key any) (any, error) {
			return s.Fold.Read(env, ctx, key.(K))
		},
		Write: func(ctx context.Context, key, read, next any) (any, error) {
			return s.Fold.Write(env, ctx, key.(K), read.(S), next.(S))
		},
		View: func(ctx context.Context, key any) ([]any, error) {
			view, err := s.View(env, ctx, key.(K))
			return erased(view), err
		},
		PendingKeys: func(ctx context.Context) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				for key, err := range s.Keys(env, ctx) {
					if !yield(key, err) {
						return
					}
				}
			}
		},
		Failure: func() error { return s.Failure() },
		Typed:   func(err error) bool { _, ok := errors.AsType[E](err); return ok },
	}
	if s.Delete != nil {
		store.Delete = func(ctx context.Context, key, record any) error {
			return s.Delete(env, ctx, key.(K), record.(S))
		}
	}
	if s.rows() {
		store.Want = func(record any) []any { return erased(s.Of(record.(S))) }
		store.Rows = s.openRows(env)
	}
	s.openCalls(env, store)
	return store
}

func (s *Subject[R, E, K, I, ID, S, O]) openRows(env R) *Rows {
	return &Rows{
		Missing: func(ctx context.Context, key, record any) ([]any, error) {
			absent, err := s.Missing(env, ctx, key.(K), record.(S))
			return erased(absent), err
		},
		Put: func(ctx context.Context, key, record any, ids []any) []error {
			return s.Put(env, ctx, key.(K), record.(S), typed[ID](ids))
		},
		Clear: func(ctx context.Context, key, record any) error {
			return s.Clear(env, ctx, key.(K), record.(S))
		},
	}
}

// openCalls gives store the user's pipeline, with every operation performed by a Do, which stands in the environment.
func (s *Subject[R, E, K, I, ID, S, O]) openCalls(env R, store *Store) {
	project := s.projection(env, store)
	store.Project = func(do Do, ctx context.Context, key, record any) (map[any]error, error) {
		left, err := project(do, ctx, key.(K), record.(S))
		return erasedLeft(left), err
	}
	bound := func(do Do, retry schedule.Schedule) projected.Provided[E, K, I, ID, O] {
		commit := fold.New[E](
			s.Fold.ID,
			func(do Do, ctx context.Context, key K) (S, error) {
				return recordOf[S](store.read(do, ctx, key))
			},
			s.Fold.Step,
			func(do Do, ctx context.Context, key K, read, next S) (S, error) {
				return recordOf[S](store.write(do, ctx, key, read, next))
			},
			retry,
		)
		return projected.New(commit, s.Pending, project).Provide(do)
	}
	store.Call = func(do Do, retry schedule.Schedule, ctx context.Context, key any, ns []int) ([]Answer, error) {
		inputs := make([]I, len(ns))
		for i, n := range ns {
			inputs[i] = s.Input(key.(K), n)
		}
		outcomes, err := bound(do, retry).Call(ctx, key.(K), inputs)
		return AnswersOf(outcomes), err
	}
	store.Submit = func(ctx context.Context, key, inputs any) ([]Answer, error) {
		outcomes, err := bound(Direct, never).Call(ctx, key.(K), inputs.([]I))
		return AnswersOf(outcomes), err
	}
	store.Resume = func(do Do, retry schedule.Schedule, ctx context.Context, key any) (map[any]error, error) {
		left, err := bound(do, retry).Resume(ctx, key.(K))
		return erasedLeft(left), err
	}
}

// AnswersOf is what a call answered.
func AnswersOf[E error, O any](outcomes []projected.Outcome[E, O]) []Answer {
	answers := make([]Answer, len(outcomes))
	for i, o := range outcomes {
		answers[i] = Answer{Projected: o.Status == projected.Projected, Err: o.Err}
	}
	return answers
}

type projection[K, ID comparable, S any] = func(Do, context.Context, K, S) (projected.Projection[ID], error)

func (s *Subject[R, E, K, I, ID, S, O]) projection(env R, store *Store) projection[K, ID, S] {
	if !s.rows() {
		return s.wholeProjection(env)
	}
	return projected.Rows(
		func(record S) iter.Seq2[ID, numberedRow[ID, S]] {
			return func(yield func(ID, numberedRow[ID, S]) bool) {
				for _, id := range s.Of(record) {
					if !yield(id, numberedRow[ID, S]{id, record}) {
						return
					}
				}
			}
		},
		func(do Do, ctx context.Context, key K, record S) ([]ID, error) {
			absent, err := store.missing(do, ctx, key, record)
			return typed[ID](absent), err
		},
		func(do Do, ctx context.Context, key K, rows []numberedRow[ID, S]) []error {
			ids := make([]any, len(rows))
			for i, row := range rows {
				ids[i] = row.id
			}
			return store.put(do, ctx, key, rows[0].of, ids)
		},
		func(do Do, ctx context.Context, key K, record S) error {
			return store.clear(do, ctx, key, record)
		},
	)
}

// numberedRow is the row of an entry of a record.
type numberedRow[ID comparable, S any] struct {
	id ID
	of S
}

// errLeft is what the session is told of a projection that left entries.
var errLeft = errors.New("the projection left entries pending")

func (s *Subject[R, E, K, I, ID, S, O]) wholeProjection(env R) projection[K, ID, S] {
	return func(do Do, ctx context.Context, key K, record S) (left projected.Projection[ID], err error) {
		err = do(ctx, Op{Kind: Project, IDs: erased(s.Log(record)), Run: func(ctx context.Context) (err error) {
			if left, err = s.Project(env, ctx, key, record); err == nil && len(left) > 0 {
				return errLeft
			}
			return err
		}})
		switch {
		case err == errLeft:
			return left, nil
		case err != nil:
			return nil, err
		}
		return nil, nil
	}
}

func recordOf[S any](record any, err error) (S, error) {
	typed, _ := record.(S)
	return typed, err
}

func erased[ID comparable](ids []ID) []any {
	all := make([]any, len(ids))
	for i, id := range ids {
		all[i] = id
	}
	return all
}

func typed[ID comparable](ids []any) []ID {
	all := make([]ID, len(ids))
	for i, id := range ids {
		all[i] = id.(ID)
	}
	return all
}

func erasedLeft[ID comparable](left projected.Projection[ID]) map[any]error {
	all := make(map[any]error, len(left))
	for id, err := range left {
		all[id] = err
	}
	return all
}

// RowsOf makes the functions Of and Put of a subject from those that the user gives to projected.Rows.
func RowsOf[R any, K comparable, S any, ID comparable, Row any](
	of func(S) iter.Seq2[ID, Row],
	put func(R, context.Context, K, []Row) []error,
) (func(S) []ID, func(R, context.Context, K, S, []ID) []error) {
	ids := func(record S) (ids []ID) {
		for id := range of(record) {
			ids = append(ids, id)
		}
		return ids
	}
	return ids, func(env R, ctx context.Context, key K, record S, ids []ID) []error {
		rowOf := maps.Collect(of(record))
		rows := make([]Row, len(ids))
		for i, id := range ids {
			rows[i] = rowOf[id]
		}
		return put(env, ctx, key, rows)
	}
}
