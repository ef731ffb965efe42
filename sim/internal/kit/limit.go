package kit

import (
	"context"
	"errors"
)

// Limit is what a store refuses as too large.
type Limit struct {
	// Err is what its error is, by errors.Is.
	Err error
	// Fits makes the inputs of a call that is just within the limit, Over those of one that exceeds it.
	Fits, Over func(key any) (inputs any)
}

// Check submits what fits, what does not, and then again what does.
func (l Limit) Check(ctx context.Context, store *Store) *Violation {
	if v := l.fits(ctx, store, store.NewKey()); v != nil {
		return v
	}
	s := newSession(store)
	answers, err := store.Submit(ctx, s.key, l.Over(s.key))
	s.look(ctx)
	switch {
	case s.broken != nil:
		return s.broken
	case err != nil && s.state.Writes() > 0:
		return broke(Named, "what exceeds the limit was answered with %s, and of it the log holds %d entries", firstLine(err), len(s.state.Log))
	case err != nil && !l.named(err):
		return broke(Named, "what exceeds the limit was answered with %s: either it is not %q, or its NotWritten is not true", firstLine(err), l.Err)
	case err == nil:
		if v := l.judge(answers); v != nil {
			return v
		}
	}
	if v := l.fits(ctx, store, store.NewKey()); v != nil || err == nil {
		return v
	}
	return l.fits(ctx, store, s.key)
}

func (l Limit) fits(ctx context.Context, store *Store, key any) *Violation {
	answers, err := store.Submit(ctx, key, l.Fits(key))
	for _, a := range answers {
		err = errors.Join(err, a.Err)
	}
	if err != nil {
		return broke(Accepted, "what is just within the limit was not written and projected: %s", firstLine(err))
	}
	return nil
}

// judge is for a call whose commit was within the limit, and its projection was not.
func (l Limit) judge(answers []Answer) *Violation {
	for _, a := range answers {
		switch {
		case a.Projected:
		case l.named(a.Err):
			return nil
		default:
			return broke(Named, "what exceeds the limit was committed, and not projected for %s: either it is not %q, or its NotWritten is not true", firstLine(a.Err), l.Err)
		}
	}
	return broke(Named, "what exceeds the limit was taken")
}

func (l Limit) named(err error) bool { return errors.Is(err, l.Err) && notWritten(err) }
