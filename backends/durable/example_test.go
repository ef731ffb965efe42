package durable_test

import (
	"context"
	"fmt"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/durable"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Visit is an input, and Visitors the body of a record: who was there.
type Visit struct{ Visitor string }

func (v Visit) Ident() string { return v.Visitor }

type Visitors struct{ Names []string }

// A pipeline is written for the store type, and provided with one on any engine.
func Example() {
	type Store = *durable.Store[string, Visitors, int]
	write := projected.WholeRecord(
		fold.New[*backends.Error](Visit.Ident, Store.Read, backends.Step(visit), Store.Commit, schedule.Recurs(3)),
		backends.Record[Visitors].Pending,
		Store.Project,
	)

	engine := newMaps() // A database's package has one of its own.
	store := durable.New[string](engine, func(v Visitors) int { return len(v.Names) })
	outcomes, err := write.Provide(store).Call(context.Background(), "museum", []Visit{{"ada"}, {"bob"}, {"ada"}})
	for _, o := range outcomes {
		fmt.Println(o.Status, o.Result)
	}
	count, shown, viewErr := store.View(context.Background(), "museum")
	fmt.Println(count, shown, err, viewErr)
	fmt.Printf("%s\n", engine.records["museum"].Body)

	// Output:
	// projected visitor 1
	// projected visitor 2
	// projected visitor 1
	// 2 true <nil> <nil>
	// {"Names":["ada","bob"]}
}

func visit(body Visitors, v Visit) (next Visitors, answer string, changed bool) {
	for i, name := range body.Names {
		if name == v.Visitor {
			return body, fmt.Sprint("visitor ", i+1), false
		}
	}
	names := append(append([]string{}, body.Names...), v.Visitor)
	return Visitors{names}, fmt.Sprint("visitor ", len(names)), true
}
