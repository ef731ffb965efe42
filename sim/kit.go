package sim

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/sim/internal/kit"
)

// TestStore checks a store of yours, real code with real calls, through the ProjectedWrite that you use it with: one that
// projects a view of one object per record, or rows and marker together. A view whose rows are written one by one is
// for [TestRowStore].
//
// It runs in three parts, of subtests that are named after the laws. First, one short script per law. Then a simulation:
// two writers and a sweeper, whose operations are performed one at a time on your store, in every order and with
// failures, lost answers, late writes and crashes injected around them, until one history breaks a law. It is the
// smallest of those that were searched. Then goroutines at once, which the race detector can watch, and of whom one order
// of their reads and commits must explain what they saw. Last, with the powers for it, what goes wrong outside of the store:
// its process is killed, the power of its disk is cut, its syncs fail, its connections lose what is sent, its server dies.
// A failure names the law, says what to fix, and shows the history.
//
//   - write is what you ship. Its schedule of retries is replaced.
//   - open answers a store. It is called for every subtest, and may answer the same store each time.
//   - failure makes a failure of the type that write retries. It is what injected faults look like.
//   - key and input make the n-th key, and the n-th input for a key: n starts at 0. No two keys may be the same, nor
//     two identities of one key's inputs, and step must accept every input in any order. Make them of [AnyText] or
//     [AnyBytes], which find stores that mangle them. The store must not hold any of these keys.
//   - log answers the identities of the entries that a record holds, view those that the view of a key shows, and none
//     for a key that has no view.
//   - pending lists the pending keys, as a sweeper is given it.
//
// What it cannot know it does not test: give it more with powers. The end of the log has a table of what was not tried,
// because a power was not given or because the machine cannot.
func TestStore[R any, E error, K comparable, I any, ID comparable, S, O any](
	t *testing.T,
	write projected.ProjectedWrite[R, E, K, I, ID, S, O],
	open func(t *testing.T) R,
	failure func() E,
	key func(n int) K,
	input func(key K, n int) I,
	log func(S) []ID,
	view func(R, context.Context, K) ([]ID, error),
	pending func(R, context.Context) iter.Seq2[K, error],
	powers ...Power,
) {
	t.Helper()
	testStore(t, kit.Subject[R, E, K, I, ID, S, O]{
		Fold: write.Fold, Pending: write.Pending, Project: write.Project,
		Failure: failure, Key: key, Input: input, Log: log, View: view, Keys: pending,
	}, open, powers)
}

// TestRowStore is [TestStore] for a store whose view has one row per entry. It takes the parts of the ProjectedWrite: the
// FoldWrite, what says that a record is pending, and the four functions that you give to [projected.Rows], so that
// it can put faults and crashes between the row writes.
func TestRowStore[R any, E error, K comparable, I any, ID comparable, S, O, Row any](
	t *testing.T,
	fold fold.FoldWrite[R, E, K, I, ID, S, O],
	behind func(S) bool,
	of func(S) iter.Seq2[ID, Row],
	missing func(R, context.Context, K, S) ([]ID, error),
	put func(R, context.Context, K, []Row) []error,
	clear func(R, context.Context, K, S) error,
	open func(t *testing.T) R,
	failure func() E,
	key func(n int) K,
	input func(key K, n int) I,
	log func(S) []ID,
	view func(R, context.Context, K) ([]ID, error),
	pending func(R, context.Context) iter.Seq2[K, error],
	powers ...Power,
) {
	t.Helper()
	ids, putIDs := kit.RowsOf(of, put)
	testStore(t, kit.Subject[R, E, K, I, ID, S, O]{
		Fold: fold, Pending: behind, Of: ids, Missing: missing, Put: putIDs, Clear: clear,
		Failure: failure, Key: key, Input: input, Log: log, View: view, Keys: pending,
	}, open, powers)
}

func testStore[R any, E error, K comparable, I any, ID comparable, S, O any](
	t *testing.T, subject kit.Subject[R, E, K, I, ID, S, O], open func(*testing.T) R, powers []Power,
) {
	t.Helper()
	p := given(powers)
	with, err := typed[R, K, I, S](p)
	if err := errors.Join(err, subject.Prepare()); err != nil {
		t.Fatalf("sim: %v", err)
	}
	subject.Delete = with.delete
	has := kit.Has{Rows: subject.Project == nil, Delete: p.delete != nil, Reopen: p.reopen != nil, Second: p.second != nil}
	if !p.seeded {
		p.seed = rand.Uint64()
	}
	kit.Test(&tester{T: t, virtual: p.virtual, open: func(t *testing.T) *kit.Store {
		env := open(t)
		store := subject.Open(env)
		store.Reopen = func() *kit.Store { return subject.Open(with.reopen(t, env)) }
		store.Second = func() *kit.Store { return subject.Open(with.second(t, env)) }
		return store
	}}, has, kit.Effort{Seed: p.seed, Histories: p.histories, Virtual: p.virtual})
	not := &untried{}
	not.unless(has.Rows, "crashes between row writes", "TestRowStore")
	not.unless(has.Delete, "delete and create again", "WithDelete")
	not.unless(has.Reopen, "durability over a restart", "WithReopen")
	not.unless(has.Second, "two handles on the same data", "WithSecondHandle")
	faults{
		untried: not, p: p, newKey: subject.NumberedKey, limits: with.limits,
		open:    func(t *testing.T) *kit.Store { return subject.Open(open(t)) },
		left:    func(t *testing.T, dir string) *kit.Store { return subject.Open(with.left(t, dir)) },
		through: func(t *testing.T, addr string) *kit.Store { return subject.Open(with.dial(t, addr)) },
		served: func(t *testing.T) (*kit.Store, func(), func()) {
			env, kill, restart := with.server(t)
			return subject.Open(env), kill, restart
		},
	}.run(t)
	not.log(t)
}

// tester is a test as the kit wants it.
type tester struct {
	*testing.T
	open      func(*testing.T) *kit.Store
	virtual   bool
	impatient chan struct{}
}

// patience is far more than one subtest needs for a dozen operations.
const patience = 20 * time.Second

// Impatient is closed in real time, whatever time it is in a bubble, which stands still when somebody waits for a lock.
func (t *tester) Impatient() <-chan struct{} { return t.impatient }

// Broken says which law is broken, and draws the history.
func (t *tester) Broken(v *kit.Violation) {
	t.Helper()
	fail(t.T, v)
}

func fail(t *testing.T, v *kit.Violation) {
	t.Helper()
	t.Error(explain(t.Name(), v))
}

// Run runs check on a store of its own, in a bubble of virtual time if that was asked for.
func (t *tester) Run(name string, check func(kit.T, *kit.Store)) {
	t.T.Run(name, func(tt *testing.T) {
		impatient := make(chan struct{})
		defer time.AfterFunc(patience, func() { close(impatient) }).Stop()
		run := func(tt *testing.T) { check(&tester{tt, t.open, t.virtual, impatient}, t.open(tt)) }
		if t.virtual {
			synctest.Test(tt, run)
			return
		}
		run(tt)
	})
}
