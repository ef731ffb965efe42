package ferry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goferry/goferry/ferry"
)

// Entry is a booking on an account.
type Entry struct {
	ID, Account string
	Amount      int
}

func account(e Entry) string { return e.Account }

// The bookings of each account reach the store in their order, many in one write.
func ExamplePerKey() {
	balances := map[string]int{}
	write := func(_ context.Context, account string, entries []Entry) ([]int, error) {
		var outs []int // One call at a time for each account; here there is only one.
		for _, e := range entries {
			balances[account] += e.Amount
			outs = append(outs, balances[account])
		}
		return outs, nil
	}
	ctx := context.Background()
	lanes := ferry.PerKey(ferry.Config{}, account, write)
	for _, amount := range []int{100, -30, 5} {
		balance, err := lanes.Submit(ctx, Entry{Account: "alice", Amount: amount})
		fmt.Println(balance, err)
	}
	fmt.Println(lanes.Close(ctx))
	// Output:
	// 100 <nil>
	// 70 <nil>
	// 75 <nil>
	// <nil>
}

// Answers are in the order of the inputs, whatever the lanes did.
func ExampleFerry_SubmitAll() {
	ctx := context.Background()
	lanes := ferry.PerKey(ferry.Config{}, account, func(_ context.Context, _ string, entries []Entry) ([]string, error) {
		var outs []string
		for _, e := range entries {
			outs = append(outs, strings.ToUpper(e.ID))
		}
		return outs, nil
	})
	outs, errs := lanes.SubmitAll(ctx, []Entry{{ID: "a", Account: "alice"}, {ID: "b", Account: "bob"}, {ID: "c", Account: "alice"}})
	fmt.Println(outs, errors.Join(errs...))
	fmt.Println(lanes.Close(ctx))
	// Output:
	// [A B C] <nil>
	// <nil>
}

// A full queue refuses what comes next, and says which bound had no room.
func ExampleOverflow() {
	ctx := context.Background()
	started, refused, finish := make(chan bool, 2), make(chan bool), make(chan bool)
	lanes := ferry.PerKey(
		ferry.Config{MaxInFlight: 1, MaxQueued: 1, Overflow: ferry.Reject, Observer: ferry.Observer{
			Overloaded: func(any, ferry.Bound) { close(refused) },
		}},
		account,
		func(_ context.Context, _ string, entries []Entry) ([]string, error) {
			started <- true
			<-finish
			return make([]string, len(entries)), nil
		},
	)
	done := make(chan error)
	go func() {
		_, err := lanes.Submit(ctx, Entry{Account: "alice"})
		done <- err
	}()
	<-started // What is in flight is not queued.

	// The first of these is queued, so the second finds no room.
	go func() {
		_, errs := lanes.SubmitAll(ctx, []Entry{{Account: "bob"}, {Account: "carol"}})
		done <- errors.Join(errs...)
	}()
	<-refused
	close(finish)
	err := errors.Join(<-done, <-done)
	fmt.Println(err)
	fmt.Println(errors.Is(err, ferry.ErrOverloaded), ferry.NotSent(err))
	fmt.Println(lanes.Close(ctx))
	// Output:
	// ferry: key carol: not sent: ferry: overloaded: no room within MaxQueued
	// true true
	// <nil>
}

func ExampleObserver() {
	ctx := context.Background()
	lanes := ferry.PerKey(
		ferry.Config{Observer: ferry.Observer{
			BatchStarted: func(ctx context.Context, b ferry.Batch) context.Context {
				fmt.Println("started:", b.Key, b.Size)
				return ctx // Or one with a span.
			},
			BatchEnded: func(_ context.Context, b ferry.Batch, err error) { fmt.Println("ended:", b.Key, err) },
		}},
		account,
		func(context.Context, string, []Entry) ([]string, error) { return nil, errors.New("disk full") },
	)
	_, err := lanes.Submit(ctx, Entry{Account: "alice"})
	fmt.Println(err)
	fmt.Println(lanes.Close(ctx))
	// Output:
	// started: alice 1
	// ended: alice disk full
	// ferry: key alice: outcome unknown: disk full
	// <nil>
}

// Submitting the same entry again is right after every error: what the store finds in its record is answered from it.
func ExampleNotSent() {
	ctx := context.Background()
	var record []string
	failures := 2
	lanes := ferry.PerKey(ferry.Config{}, account, func(_ context.Context, _ string, entries []Entry) ([]int, error) {
		var positions []int
		for _, e := range entries {
			at := slices.Index(record, e.ID)
			if at < 0 {
				at = len(record)
				record = append(record, e.ID)
			}
			positions = append(positions, at)
		}
		if failures--; failures >= 0 {
			return nil, errors.New("the answer was lost")
		}
		return positions, nil
	})
	for {
		position, err := lanes.Submit(ctx, Entry{ID: "e1", Account: "alice"})
		if err == nil {
			fmt.Println("position", position, "of", len(record))
			break
		}
		fmt.Println("not sent:", ferry.NotSent(err), "-", err) // After a pause, the same entry again.
	}
	fmt.Println(lanes.Close(ctx))
	_, err := lanes.Submit(ctx, Entry{ID: "e2", Account: "alice"})
	fmt.Println("not sent:", ferry.NotSent(err), "-", err)
	// Output:
	// not sent: false - ferry: key alice: outcome unknown: the answer was lost
	// not sent: false - ferry: key alice: outcome unknown: the answer was lost
	// position 0 of 1
	// <nil>
	// not sent: true - ferry: key alice: not sent: ferry: closed
}
