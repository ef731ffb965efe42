package backends_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/memory"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Payment is an input.
type Payment struct {
	Ref, Account string
	Amount       int
}

func (p Payment) Ident() string { return p.Ref }

// Account is the body of a record: it knows the payments that it holds.
type Account struct {
	Refs    []string
	Balance int
}

// pay is the step on bodies. A payment that the account already holds is answered, not applied again.
func pay(account Account, p Payment) (next Account, balance int, changed bool) {
	if slices.Contains(account.Refs, p.Ref) {
		return account, account.Balance, false
	}
	refs := append(slices.Clone(account.Refs), p.Ref)
	return Account{Refs: refs, Balance: account.Balance + p.Amount}, account.Balance + p.Amount, true
}

// Accounts is any store of accounts.
type Accounts = backends.ViewStore[string, Account]

// write is the whole pipeline. It names no store but only what one must be able to do.
var write = projected.WholeRecord(
	fold.New[*backends.Error](
		Payment.Ident, Accounts.Read, backends.Step(pay), Accounts.Commit,
		schedule.Exponential(10*time.Millisecond).Jittered().And(schedule.Recurs(5))),
	backends.Record[Account].Pending,
	Accounts.Project,
)

// A pipeline is written once against an interface of this package and then given a store.
func Example() {
	ctx := context.Background()
	store := memory.New[string](func(a Account) string { return fmt.Sprintf("%d in %d payments", a.Balance, len(a.Refs)) })

	outcomes, err := write.Provide(store).Call(ctx, "acc-1", []Payment{
		{Ref: "p-1", Account: "acc-1", Amount: 30},
		{Ref: "p-2", Account: "acc-1", Amount: 12},
		{Ref: "p-1", Account: "acc-1", Amount: 30}, // The client sent it twice.
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, outcome := range outcomes {
		fmt.Println(outcome.Status, outcome.Result)
	}
	view, _, _ := store.View(ctx, "acc-1")
	fmt.Println("view:", view)
	// Output:
	// projected 30
	// projected 42
	// projected 42
	// view: 42 in 2 payments
}

// A write that was made for a record which the store no longer holds is a conflict: nothing is written.
func ExampleError() {
	ctx := context.Background()
	store := memory.New[string](func(balance int) int { return balance })

	read, _ := store.Read(ctx, "acc-1")
	if _, err := store.Commit(ctx, "acc-1", read, backends.Record[int]{Body: 30, Behind: true}); err != nil {
		fmt.Println(err)
	}
	_, err := store.Commit(ctx, "acc-1", read, backends.Record[int]{Body: 12, Behind: true})

	fmt.Println(err)
	if failed, ok := errors.AsType[*backends.Error](err); ok {
		fmt.Println("conflict:", errors.Is(err, backends.ErrConflict), "not written:", failed.NotWritten())
	}
	// Output:
	// commit acc-1: conflict: the record is not the one that was read
	// conflict: true not written: true
}

// A step on bodies knows nothing of fences and markers: Step adds them.
func ExampleStep() {
	step := backends.Step(pay)

	record, balance, changed := step(backends.Record[Account]{}, Payment{Ref: "p-1", Amount: 30})
	fmt.Println(balance, changed, record.Pending())

	settled := record
	settled.Behind = false
	record, balance, changed = step(settled, Payment{Ref: "p-1", Amount: 30})
	fmt.Println(balance, changed, record.Pending())
	// Output:
	// 30 true true
	// 30 false false
}
