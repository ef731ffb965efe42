// Package kit checks stores against the laws that FoldWrite and ProjectedWrite lean on.
//
// It knows a store by functions whose types are erased, see [Store], and finds what is wrong in three ways: [Conform]
// follows one short script per law, [Simulate] interleaves writers and a sweeper operation by operation and injects
// faults, [Stress] lets goroutines loose. All three hold every operation to the same laws, in a session.
//
// What goes wrong outside of a store is done to it by who calls this package. A [Witness] holds what writers were
// acknowledged against what is left, a [Wire] has calls meet what a network does, a [Limit] is what is too large.
package kit

import (
	"context"
	"iter"

	"github.com/goferry/goferry/schedule"
)

// Store is an opened store and what its user does with it. Keys, identities and records are any.
type Store struct {
	// NewKey answers a key that the store has never held.
	NewKey func() any
	// ID is the identity of the n-th input for key.
	ID func(key any, n int) any
	// Step folds the n-th input for key into record.
	Step func(record, key any, n int) (next any, changed bool)
	// Pending and Log look at a record. Want is what a complete view of it shows.
	Pending func(record any) bool
	Log     func(record any) []any
	Want    func(record any) []any

	Read        func(ctx context.Context, key any) (any, error)
	Write       func(ctx context.Context, key, read, next any) (any, error)
	View        func(ctx context.Context, key any) ([]any, error)
	PendingKeys func(ctx context.Context) iter.Seq2[any, error]

	// Project brings the view of record up to date, by operations that do performs.
	Project func(do Do, ctx context.Context, key, record any) (left map[any]error, err error)
	// Rows are the functions of a view of one row per entry, nil for one object per record.
	Rows *Rows

	// Call and Resume are the user's ProjectedWrite, with its operations performed by do.
	Call   func(do Do, retry schedule.Schedule, ctx context.Context, key any, ns []int) ([]Answer, error)
	Resume func(do Do, retry schedule.Schedule, ctx context.Context, key any) (left map[any]error, err error)
	// Submit is a call, not retried, of inputs that the user has made.
	Submit func(ctx context.Context, key, inputs any) ([]Answer, error)

	// Failure makes a failure of the user's type, and Typed knows one.
	Failure func() error
	Typed   func(error) bool

	// Delete, Reopen and Second are nil if the user gave no such power.
	Delete func(ctx context.Context, key, record any) error
	Reopen func() *Store
	Second func() *Store
}

// Rows are the functions of a view of one row per entry.
type Rows struct {
	Missing func(ctx context.Context, key, record any) ([]any, error)
	// Put puts the rows that record has for ids, in that order.
	Put   func(ctx context.Context, key, record any, ids []any) []error
	Clear func(ctx context.Context, key, record any) error
}

// Answer is what a call answers to one input.
type Answer struct {
	Projected bool
	Err       error
}

// Kind is what an operation does.
type Kind string

// The operations.
const (
	Read    Kind = "read"
	Commit  Kind = "commit"
	Project Kind = "project"
	Missing Kind = "missing"
	Put     Kind = "put"
	Clear   Kind = "clear"
	Delete  Kind = "delete"
	List    Kind = "list"
)

func (k Kind) writes() bool { return k != Read && k != Missing && k != List }

// Op is an operation on the store.
type Op struct {
	Kind Kind
	// IDs are what it is about: the log to commit, the row to put, the log to project.
	IDs []any
	// Run performs it on the real store.
	Run func(context.Context) error
	// Answered, for a read, a commit and missing, are the ids that were answered, after success; Pending goes with
	// the first two.
	Answered func() (ids []any, pending bool)
	// Recall, for a read and a listing, has it answer a record that the store held before.
	Recall func(record any)
}

// Do performs an operation, or makes it fail.
type Do func(context.Context, Op) error

// Direct just performs it.
func Direct(ctx context.Context, op Op) error { return op.Run(ctx) }

// T is what the kit needs of a test.
type T interface {
	Helper()
	Context() context.Context
	Logf(format string, args ...any)
	Failed() bool
	// Impatient is closed when a subtest has taken so long that an operation must be stuck.
	Impatient() <-chan struct{}
	// Broken fails the test.
	Broken(*Violation)
	// Run is a subtest with a store of its own.
	Run(name string, check func(T, *Store))
}

// Effort says how much to try.
type Effort struct {
	// Seed is where the random histories start.
	Seed uint64
	// Histories is how many there are in the simulation. 0 is as many as the store does in about two seconds.
	Histories int
	// Virtual says that time does not pass while the store works.
	Virtual bool
}

// Has says what the stores under test have.
type Has struct{ Rows, Delete, Reopen, Second bool }

// Test runs everything. What comes later leans on what comes first: it is not run if that fails.
func Test(t T, has Has, effort Effort) {
	t.Helper()
	for _, part := range []func(){
		func() { Conform(t, has) },
		func() { Simulate(t, effort) },
		func() { Stress(t, effort) },
	} {
		if t.Failed() {
			t.Logf("sim: the rest was not run: it leans on what failed")
			return
		}
		part()
	}
}
