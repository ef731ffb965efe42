package postgres_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/postgres"
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
type Ledger = *postgres.RowStore[string, Account, string, Posting]

// posting is the whole pipeline. It knows the store by its methods only.
var posting = projected.New(
	fold.New[*backends.Error](Posting.Ident, Ledger.Read, backends.Step(post), Ledger.Commit,
		schedule.Exponential(10*time.Millisecond).Jittered().And(schedule.Recurs(5))),
	backends.Record[Account].Pending,
	Ledger.ProjectRows,
)

// A commit and its projection, and a replay. The address is that of the tests' server.
func Example() {
	ctx := context.Background()
	if err := example(ctx, server.ConnString("postgres")); err != nil {
		fmt.Println(err)
	}

	// Output:
	// projected 10
	// projected 7
	// projected 10
	// [{p1 10} {p2 -3}]
}

func example(ctx context.Context, address string) error {
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return err
	}
	defer pool.Close()
	config := postgres.Config{Schema: "ledger"}
	if err := postgres.Migrate(ctx, pool, config); err != nil {
		return err
	}
	db, err := postgres.Open(ctx, pool, config)
	if err != nil {
		return err
	}
	defer db.Close()

	accounts := postgres.NewRows[string](db, ledger, Posting.Ident)
	write := posting.Provide(accounts)
	for _, batch := range [][]Posting{{{"p1", 10}, {"p2", -3}}, {{"p1", 10}}} {
		outcomes, err := write.Call(ctx, "alice", batch)
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			fmt.Println(o.Status, o.Result)
		}
	}
	rows, err := accounts.Rows(ctx, "alice")
	fmt.Println(rows)
	return err
}
