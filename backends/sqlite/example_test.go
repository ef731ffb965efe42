package sqlite_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/sqlite"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Posting is an input: so much was posted to an account.
type Posting struct {
	ID     string
	Amount int
}

func (p Posting) Ident() string { return p.ID }

// Account is the body of a record: the postings imply everything else.
type Account struct{ Postings []Posting }

// post adds a posting and answers the balance after it. One that the account holds already is answered as it was.
func post(a Account, p Posting) (next Account, balance int, changed bool) {
	for _, held := range a.Postings {
		balance += held.Amount
		if held.ID == p.ID {
			return a, balance, false
		}
	}
	return Account{Postings: append(slices.Clip(a.Postings), p)}, balance + p.Amount, true
}

// ledger yields the rows of the view: one line per posting.
func ledger(a Account) iter.Seq2[string, Posting] {
	return func(yield func(string, Posting) bool) {
		for _, p := range a.Postings {
			if !yield(p.ID, p) {
				return
			}
		}
	}
}

// Ledger is the store: records of accounts by name, and a view of one row per posting.
type Ledger = *sqlite.RowStore[string, Account, string, Posting]

// posting is the whole pipeline. It knows the store by its methods only.
var posting = projected.New(
	fold.New[*backends.Error](Posting.Ident, Ledger.Read, backends.Step(post), Ledger.Commit,
		schedule.Exponential(10*time.Millisecond).Jittered().And(schedule.Recurs(5))),
	backends.Record[Account].Pending,
	Ledger.ProjectRows,
)

// A commit and its projection, a replay, and what is there when the file is opened again.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ledger.db")

	for range 2 {
		db, err := sqlite.Open(ctx, path, sqlite.Config{})
		if err != nil {
			fmt.Println(err)
			return
		}
		accounts := sqlite.NewRows[string](db, ledger, Posting.Ident)
		outcomes, err := posting.Provide(accounts).Call(ctx, "alice", []Posting{{"p1", 10}, {"p2", -3}})
		for _, o := range outcomes {
			fmt.Println(o.Status, o.Result)
		}
		rows, rowsErr := accounts.Rows(ctx, "alice")
		fmt.Println(rows, err, rowsErr, db.Close())
	}

	// Output:
	// projected 10
	// projected 7
	// [{p1 10} {p2 -3}] <nil> <nil> <nil>
	// projected 10
	// projected 7
	// [{p1 10} {p2 -3}] <nil> <nil> <nil>
}

// A view of one object per record, and a sweeper that finishes what was interrupted between the two writes.
func ExampleNew() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "balances")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(ctx, filepath.Join(dir, "balances.db"), sqlite.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()

	type Store = *sqlite.Store[string, Account, int]
	balance := func(a Account) (sum int) {
		for _, p := range a.Postings {
			sum += p.Amount
		}
		return sum
	}
	var write = projected.WholeRecord(
		fold.New[*backends.Error](Posting.Ident, Store.Read, backends.Step(post), Store.Commit, schedule.Recurs(5)),
		backends.Record[Account].Pending,
		Store.Project,
	)
	store := sqlite.New[string](db, balance)

	// A process that ended after the commit leaves a record whose view is behind.
	next := backends.Record[Account]{Body: Account{Postings: []Posting{{"p1", 10}}}, Behind: true}
	if _, err := store.Commit(ctx, "bob", backends.Record[Account]{}, next); err != nil {
		fmt.Println(err)
	}
	_, shown, err := store.View(ctx, "bob")
	fmt.Println("before the sweep:", shown, err)

	sweeper := projected.NewSweeper(write, store, Store.PendingKeys)
	sweeper.OnVisit = func(key string, left projected.Projection[string], err error) {
		fmt.Println("swept:", key, len(left), err)
		cancel()
	}
	sweeper.Run(ctx)
	view, shown, err := store.View(context.Background(), "bob")
	fmt.Println("after it:", view, shown, err)

	// Output:
	// before the sweep: false <nil>
	// swept: bob 0 <nil>
	// after it: 10 true <nil>
}
