package sim

import (
	"context"
	"fmt"
	"testing"

	"github.com/goferry/goferry/sim/internal/kit"
)

// Power is something more that [TestStore] and [TestRowStore] may use, or how they go about it.
type Power func(*powers)

type powers struct {
	delete, reopen, second any
	virtual, seeded        bool
	seed                   uint64
	histories              int
}

// WithDelete says how the store removes a record with its view: only if it still holds the record that was read.
func WithDelete[R any, K comparable, S any](remove func(env R, ctx context.Context, key K, read S) error) Power {
	return func(p *powers) { p.delete = remove }
}

// WithReopen says how to end a store, as a crash or a restart does, and open what it has left behind.
func WithReopen[R any](reopen func(t *testing.T, env R) R) Power {
	return func(p *powers) { p.reopen = reopen }
}

// WithSecondHandle says how to open the data of a store once more, as another process does.
func WithSecondHandle[R any](second func(t *testing.T, env R) R) Power {
	return func(p *powers) { p.second = second }
}

// WithVirtualTime runs every subtest in a synctest bubble: for stores without sockets, files or goroutines that outlive
// them, which then wait for nothing. Its number of histories does not depend on the machine.
func WithVirtualTime() Power { return func(p *powers) { p.virtual = true } }

// WithHistories is how many histories the simulation makes. Without it, as many as the store makes in two seconds.
func WithHistories(n int) Power { return func(p *powers) { p.histories = n } }

// WithSeed makes the random histories those of another test: its log has the seed.
func WithSeed(seed uint64) Power { return func(p *powers) { p.seed, p.seeded = seed, true } }

func given(all []Power) (p powers) {
	for _, power := range all {
		power(&p)
	}
	return p
}

// power answers a function that was given, which cannot be checked before the store is known.
func power[F any](name string, given any) (f F, err error) {
	if given == nil {
		return f, nil
	}
	f, ok := given.(F)
	if !ok {
		err = fmt.Errorf("%s was given a %T, and this store needs a %T", name, given, f)
	}
	return f, err
}

// logNotTried says what a green test has not shown.
func (p powers) logNotTried(t *testing.T, has kit.Has) {
	t.Helper()
	for _, missing := range []struct {
		given bool
		what  string
	}{
		{has.Rows, "crashes between row writes (TestRowStore)"},
		{has.Delete, "delete and create again (WithDelete)"},
		{has.Reopen, "durability over a restart (WithReopen)"},
		{has.Second, "two processes on the same data (WithSecondHandle)"},
	} {
		if !missing.given {
			t.Logf("sim: not tried: %s", missing.what)
		}
	}
	t.Log("sim: not tried: power cuts, and what a network does to your driver between its send and its answer")
}
