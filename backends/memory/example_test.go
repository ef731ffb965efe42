package memory_test

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/memory"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Booking is an input, and an entry of a record.
type Booking struct {
	Ref    string
	Amount int
}

func (b Booking) Ident() string { return b.Ref }

// Line is a row: what queries see of a booking.
type Line struct{ Ref, Text string }

func (l Line) Ident() string { return l.Ref }

// Book is the body of a record: the bookings of one account.
type Book []Booking

// Lines yields the row of each booking: a function of the booking alone.
func (b Book) Lines() iter.Seq2[string, Line] {
	return func(yield func(string, Line) bool) {
		for _, booking := range b {
			if !yield(booking.Ref, Line{booking.Ref, fmt.Sprintf("%+d", booking.Amount)}) {
				return
			}
		}
	}
}

// enter is the step: a booking that the book already holds is answered with its place, and not entered again.
func enter(book Book, in Booking) (next Book, place int, changed bool) {
	if at := slices.Index(book, in); at >= 0 {
		return book, at + 1, false
	}
	return append(slices.Clone(book), in), len(book) + 1, true
}

// A record, its view and its marker, by hand.
func Example() {
	ctx := context.Background()
	store := memory.New[string](func(amounts []int) int {
		sum := 0
		for _, amount := range amounts {
			sum += amount
		}
		return sum
	})

	read, _ := store.Read(ctx, "acc-1")
	stored, err := store.Commit(ctx, "acc-1", read, backends.Record[[]int]{Body: []int{30, 12}, Behind: true})
	_, shown, _ := store.View(ctx, "acc-1")
	fmt.Println("committed:", stored.Body, err, "pending:", stored.Pending(), "view:", shown)

	err = store.Project(ctx, "acc-1", stored)
	sum, _, _ := store.View(ctx, "acc-1")
	fmt.Println("projected:", sum, err)

	fmt.Println("again:", store.Project(ctx, "acc-1", stored))
	// Output:
	// committed: [30 12] <nil> pending: true view: false
	// projected: 42 <nil>
	// again: project acc-1: conflict: the record is not the one that was read
}

// The whole pipeline with a view of one row per entry.
func ExampleNewRows() {
	type Books = backends.RowStore[string, Book, string, Line]
	write := projected.New(
		fold.New[*backends.Error](Booking.Ident, Books.Read, backends.Step(enter), Books.Commit, schedule.Recurs(5)),
		backends.Record[Book].Pending,
		projected.Rows(
			func(r backends.Record[Book]) iter.Seq2[string, Line] { return r.Body.Lines() },
			Books.Missing, Books.Put, Books.Clear),
	)

	ctx := context.Background()
	store := memory.NewRows[string](Book.Lines, Line.Ident)
	outcomes, err := write.Provide(store).Call(ctx, "acc-1", []Booking{{"b-1", 30}, {"b-2", -12}, {"b-1", 30}})
	for _, outcome := range outcomes {
		fmt.Println(outcome.Status, "at place", outcome.Result)
	}
	rows, _ := store.Rows(ctx, "acc-1")
	fmt.Println(rows, err)
	// Output:
	// projected at place 1
	// projected at place 2
	// projected at place 1
	// [{b-1 +30} {b-2 -12}] <nil>
}
