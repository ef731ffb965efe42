package faults_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/faults"
	"github.com/goferry/goferry/backends/memory"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Log is the body of a record: the identities of its entries, each its own row.
type Log []string

// Rows yields each entry as its row.
func (l Log) Rows() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, id := range l {
			if !yield(id, id) {
				return
			}
		}
	}
}

func ident(id string) string { return id }

func add(log Log, id string) (next Log, place int, changed bool) {
	if at := slices.Index(log, id); at >= 0 {
		return log, at + 1, false
	}
	return append(slices.Clone(log), id), len(log) + 1, true
}

// Logs is any store of logs with one row per entry.
type Logs = backends.RowStore[string, Log, string, string]

var write = projected.New(
	fold.New[*backends.Error](ident, Logs.Read, backends.Step(add), Logs.Commit, schedule.Recurs(5)),
	backends.Record[Log].Pending,
	projected.Rows(
		func(r backends.Record[Log]) iter.Seq2[string, string] { return r.Body.Rows() },
		Logs.Missing, Logs.Put, Logs.Clear),
)

// One row in three is throttled: its entry is committed, only its row is late, and a sweeper's visit writes it.
func Example() {
	ctx := context.Background()
	f := faults.New(faults.Plan{Put: faults.Mix{Throttle: faults.Rate{N: 1, M: 3}}})
	rows := memory.NewRows[string](Log.Rows, ident)
	provided := write.Provide(faults.Rows(f, rows))

	outcomes, err := provided.Call(ctx, "k", []string{"a", "b", "c", "d"})
	for _, outcome := range outcomes {
		fmt.Println(outcome.Status, outcome.Result, outcome.Err)
	}
	shown, _ := rows.Rows(ctx, "k")
	fmt.Println(shown, err)

	left, err := provided.Resume(ctx, "k")
	shown, _ = rows.Rows(ctx, "k")
	fmt.Println(shown, left, err)
	// Output:
	// projected 1 <nil>
	// projected 2 <nil>
	// committed 3 put k: refused: throttled
	// projected 4 <nil>
	// [a b d] <nil>
	// [a b d c] map[] <nil>
}

// Switches put faults where a story wants them: here the process dies between the commit and the projection.
func ExampleFaults_Crash() {
	ctx := context.Background()
	logs := memory.New[string](slices.Clone[Log])
	f := faults.New(faults.Plan{Commit: faults.Mix{CrashAfter: 1}})
	store := faults.View(f, logs)

	stored, err := store.Commit(ctx, "k", backends.Record[Log]{}, backends.Record[Log]{Body: Log{"a"}, Behind: true})
	fmt.Println(stored.Body, err)
	fmt.Println(store.Project(ctx, "k", stored))

	f.Restart()
	fmt.Println(store.Project(ctx, "k", stored))
	// Output:
	// [a] <nil>
	// project k: refused: crashed
	// <nil>
}

// A late write is answered as unknown and lands afterwards. Who reads again before that finds nothing of it, and it
// is fenced like any other write when it comes.
func ExampleFaults_Land() {
	ctx := context.Background()
	logs := memory.New[string](slices.Clone[Log])
	f := faults.New(faults.Plan{Commit: faults.Mix{Late: faults.Rate{N: 1, M: 2}}, LateBy: -1})
	store := faults.View(f, logs)

	var read backends.Record[Log]
	for _, id := range []string{"a", "b"} {
		stored, err := store.Commit(ctx, "k", read, backends.Record[Log]{Body: append(slices.Clone(read.Body), id), Behind: true})
		if errors.Is(err, backends.ErrUnknown) {
			fmt.Println(err)
			break
		}
		read = stored
	}
	before, _ := store.Read(ctx, "k")
	landed := f.Land()
	after, _ := store.Read(ctx, "k")
	fmt.Println(before.Body, landed, after.Body)
	// Output:
	// commit k: outcome unknown: write delayed
	// [a] 1 [a b]
}
