package fold_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/schedule"
)

// Stock is the record of an article: what is left, which orders it holds, and the version that fences it.
type Stock struct {
	Version int
	Left    int
	Orders  []string
}

// Order takes some of an article.
type Order struct {
	ID      string
	Article string
	Take    int
}

func (o Order) Ident() string { return o.ID }

// StockError is what the warehouse fails with.
type StockError struct{ Conflict bool }

func (e *StockError) Error() string    { return fmt.Sprintf("conflict: %v", e.Conflict) }
func (e *StockError) NotWritten() bool { return e.Conflict }

// Warehouse is a store that a rival writes to as well.
type Warehouse struct {
	stock map[string]Stock
	rival func()
}

func (w *Warehouse) Read(_ context.Context, article string) (Stock, error) {
	return w.stock[article], nil
}

func (w *Warehouse) Write(_ context.Context, article string, read, next Stock) (Stock, error) {
	if rival := w.rival; rival != nil {
		w.rival = nil
		rival()
	}
	if w.stock[article].Version != read.Version {
		return Stock{}, &StockError{Conflict: true}
	}
	next.Version = read.Version + 1
	w.stock[article] = next
	return next, nil
}

// take is the step: a replay is found, an order that is too large is rejected on its merits, anything else is taken.
func take(s Stock, o Order) (Stock, string, bool) {
	switch {
	case slices.Contains(s.Orders, o.ID):
		return s, "taken before", false
	case o.Take > s.Left:
		return s, fmt.Sprint("only ", s.Left, " left"), false
	}
	s.Left -= o.Take
	s.Orders = append(slices.Clip(s.Orders), o.ID)
	return s, fmt.Sprint("taken, ", s.Left, " left"), true
}

var takeStock = fold.New[*StockError](Order.Ident, (*Warehouse).Read, take, (*Warehouse).Write,
	schedule.Exponential(10*time.Millisecond).Jittered().And(schedule.Recurs(5)))

func Example() {
	warehouse := &Warehouse{stock: map[string]Stock{"tea": {Version: 1, Left: 10}}}
	warehouse.rival = func() { warehouse.stock["tea"] = Stock{Version: 2, Left: 4, Orders: []string{"theirs"}} }

	orders := []Order{{"o1", "tea", 3}, {"o2", "tea", 3}, {"o1", "tea", 3}}
	answers, err := takeStock.Provide(warehouse).Call(context.Background(), "tea", orders)
	for i, answer := range answers {
		fmt.Println(orders[i].ID, answer)
	}
	fmt.Println(err)
	// Output:
	// o1 taken, 1 left
	// o2 only 1 left
	// o1 taken before
	// <nil>
}

func ExampleError() {
	warehouse := &Warehouse{stock: map[string]Stock{"tea": {Version: 1, Left: 10}}}
	warehouse.rival = func() { warehouse.stock["tea"] = Stock{Version: 2} }
	impatient := takeStock
	impatient.Retry = schedule.Stop()

	_, err := impatient.Provide(warehouse).Call(context.Background(), "tea", []Order{{"o1", "tea", 3}})
	if e, ok := errors.AsType[*fold.Error](err); ok {
		fmt.Println("key:", e.Key, "attempts:", e.Attempts, "phase:", e.Phase, "unknown:", e.Unknown)
	}
	fmt.Println(err)
	// Output:
	// key: tea attempts: 1 phase: write unknown: false
	// fold: write tea (attempts: 1): conflict: true
}
