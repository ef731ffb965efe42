package kit

import (
	"context"
	"fmt"
	"slices"
)

// The operations of a store. Each performs by do, and answers what the real store answered.

func (s *Store) read(do Do, ctx context.Context, key any) (record any, err error) {
	err = do(ctx, Op{
		Kind:     Read,
		Run:      func(ctx context.Context) (err error) { record, err = s.Read(ctx, key); return err },
		Answered: func() ([]any, bool) { return s.Log(record), s.Pending(record) },
		Recall:   func(past any) { record = past },
	})
	return record, err
}

// lists says whether key is listed as pending.
func (s *Store) lists(do Do, ctx context.Context, key any) (listed bool, err error) {
	err = do(ctx, Op{
		Kind: List,
		Run: func(ctx context.Context) error {
			keys, err := collect(s.PendingKeys(ctx))
			listed = slices.Contains(keys, key)
			return err
		},
		Recall: func(past any) { listed = s.Pending(past) },
	})
	return listed, err
}

func (s *Store) write(do Do, ctx context.Context, key, read, next any) (stored any, err error) {
	err = do(ctx, Op{
		Kind: Commit, IDs: s.Log(next),
		Run:      func(ctx context.Context) (err error) { stored, err = s.Write(ctx, key, read, next); return err },
		Answered: func() ([]any, bool) { return s.Log(stored), s.Pending(stored) },
	})
	return stored, err
}

func (s *Store) missing(do Do, ctx context.Context, key, record any) (absent []any, err error) {
	err = do(ctx, Op{
		Kind: Missing, IDs: s.Want(record),
		Run:      func(ctx context.Context) (err error) { absent, err = s.Rows.Missing(ctx, key, record); return err },
		Answered: func() ([]any, bool) { return absent, false },
	})
	return absent, err
}

// put performs one row at a time, so that a process can die between two of them.
func (s *Store) put(do Do, ctx context.Context, key, record any, ids []any) []error {
	errs := make([]error, len(ids))
	for i := range ids {
		errs[i] = do(ctx, s.putOp(key, record, ids[i:i+1]))
	}
	return errs
}

func (s *Store) putOp(key, record any, ids []any) Op {
	return Op{Kind: Put, IDs: ids, Run: func(ctx context.Context) error {
		answers := s.Rows.Put(ctx, key, record, ids)
		if len(answers) != len(ids) {
			return &countError{len(answers), len(ids)}
		}
		for _, err := range answers {
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

func (s *Store) clear(do Do, ctx context.Context, key, record any) error {
	return do(ctx, Op{Kind: Clear, IDs: s.Log(record), Run: func(ctx context.Context) error {
		return s.Rows.Clear(ctx, key, record)
	}})
}

func (s *Store) deleteOp(key, record any) Op {
	return Op{Kind: Delete, IDs: s.Log(record), Run: func(ctx context.Context) error { return s.Delete(ctx, key, record) }}
}

// countError is the answer of a put of the wrong length.
type countError struct{ got, want int }

func (e *countError) Error() string {
	return fmt.Sprintf("%d answers to a put of %d rows", e.got, e.want)
}
