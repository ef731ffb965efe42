package etcdtest_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/etcd"
	"github.com/goferry/goferry/backends/etcd/etcdtest"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Payment is an input, and an entry of an account.
type Payment struct {
	Ref    string
	Amount int
}

func (p Payment) Ident() string { return p.Ref }

// pay is the step. A payment that the account already holds is answered, not applied again.
func pay(account []Payment, p Payment) (next []Payment, count int, changed bool) {
	if i := slices.Index(account, p); i >= 0 {
		return account, i + 1, false
	}
	return append(slices.Clip(account), p), len(account) + 1, true
}

func balance(account []Payment) int {
	sum := 0
	for _, p := range account {
		sum += p.Amount
	}
	return sum
}

type Accounts = etcd.Store[string, []Payment, int]

var write = projected.WholeRecord(
	fold.New[*backends.Error](
		Payment.Ident, (*Accounts).Read, backends.Step(pay), (*Accounts).Commit,
		schedule.Exponential(10*time.Millisecond).Capped(500*time.Millisecond).Jittered().And(schedule.Recurs(20))),
	backends.Record[[]Payment].Pending,
	(*Accounts).Project,
)

// The whole pipeline on three nodes, one of which dies.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cluster, err := etcdtest.Start(dir, etcdtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()

	ctx := context.Background()
	db, err := etcd.Open(ctx, clientv3.Config{Endpoints: cluster.Endpoints()}, etcd.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	accounts := etcd.New[string](db, balance)

	pay := write.Provide(accounts)
	for _, p := range []Payment{{"p-1", 30}, {"p-2", 12}, {"p-1", 30}} { // The client sent the first one twice.
		outcomes, err := pay.Call(ctx, "acc-1", []Payment{p})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Ref, outcomes[0].Status, "as number", outcomes[0].Result)
		cluster.Kill(0) // Two of three go on.
	}
	view, _, err := accounts.View(ctx, "acc-1")
	fmt.Println("balance:", view, err)
	// Output:
	// p-1 projected as number 1
	// p-2 projected as number 2
	// p-1 projected as number 1
	// balance: 42 <nil>
}
