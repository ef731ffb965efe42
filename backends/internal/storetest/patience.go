package storetest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/goferry/goferry/projected"
)

// Patience is how long a test waits for what should come at once. It is long, so that nothing fails on a machine that
// is busy with other things, and it ends, so that what never comes fails its own test and not the whole run.
const Patience = 2 * time.Minute

// Await answers what c gives.
func Await[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(Patience):
		t.Fatalf("%s: got nothing within %v", what, Patience)
	}
	return v
}

// Until asks again and again until ok answers true.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for begun := time.Now(); !ok(); <-ticks.C {
		if time.Since(begun) > Patience {
			t.Fatalf("%s: not within %v", what, Patience)
		}
	}
}

// patient is a subject whose calls end in time, whatever the context that they are given.
func patient(s Subject) Subject {
	return Subject{
		Common: limited{s.Common},
		Project: func(ctx context.Context, key string, record Record) (projected.Projection[string], error) {
			ctx, cancel := context.WithTimeout(ctx, Patience)
			defer cancel()
			return s.Project(ctx, key, record)
		},
		Shown: func(ctx context.Context, key string) ([]Entry, error) {
			ctx, cancel := context.WithTimeout(ctx, Patience)
			defer cancel()
			return s.Shown(ctx, key)
		},
	}
}

type limited struct{ Common }

func (l limited) Read(ctx context.Context, key string) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return l.Common.Read(ctx, key)
}

func (l limited) Commit(ctx context.Context, key string, read, next Record) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return l.Common.Commit(ctx, key, read, next)
}

func (l limited) Delete(ctx context.Context, key string, read Record) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return l.Common.Delete(ctx, key, read)
}

func (l limited) PendingKeys(ctx context.Context) iter.Seq2[string, error] {
	return l.list(ctx, l.Common.PendingKeys)
}

func (l limited) Keys(ctx context.Context) iter.Seq2[string, error] {
	return l.list(ctx, l.Common.Keys)
}

func (l limited) list(ctx context.Context, keys func(context.Context) iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithTimeout(ctx, Patience)
		defer cancel()
		keys(ctx)(yield)
	}
}
