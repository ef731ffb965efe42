package projected_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Entry is one line of an entity's log.
type Entry struct{ ID, Entity string }

func (e Entry) Ident() string { return e.ID }
func (e Entry) Key() string   { return e.Entity }

// Record is an entity as the store keeps it: its version is the fence, and its marker how much of the log is projected.
type Record struct {
	Version   int
	Log       []string
	Projected int
}

func (r Record) Pending() bool { return r.Projected < len(r.Log) }

// StoreError is what the store fails with.
type StoreError struct{ Reason string }

func (e *StoreError) Error() string { return e.Reason }

// Store keeps records and their views. Its view can be down.
type Store struct {
	mu      sync.Mutex
	records map[string]Record
	views   map[string][]string
	down    bool
}

func (s *Store) Read(_ context.Context, entity string) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[entity], nil
}

func (s *Store) Commit(_ context.Context, entity string, read, next Record) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[entity].Version != read.Version {
		return Record{}, &StoreError{"another version"}
	}
	next.Version = read.Version + 1
	s.records[entity] = next
	return next, nil
}

// Project appends to the view what the marker says is not there yet, if the store still holds the record.
func (s *Store) Project(_ context.Context, entity string, r Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return &StoreError{"the view is down"}
	}
	if held := s.records[entity]; held.Version != r.Version || held.Projected != r.Projected {
		return &StoreError{"another record"}
	}
	s.views[entity] = append(s.views[entity], r.Log[r.Projected:]...)
	r.Version, r.Projected = r.Version+1, len(r.Log)
	s.records[entity] = r
	return nil
}

func (s *Store) PendingEntities(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		s.mu.Lock()
		records := maps.Clone(s.records)
		s.mu.Unlock()
		for entity, r := range records {
			if r.Pending() && !yield(entity, nil) {
				return
			}
		}
	}
}

// book is the step.
func book(r Record, e Entry) (Record, int, bool) {
	if at := slices.Index(r.Log, e.ID); at >= 0 {
		return r, at, false
	}
	r.Log = append(slices.Clip(r.Log), e.ID)
	return r, len(r.Log) - 1, true
}

// The pipeline, with the one type argument that cannot be inferred.
var bookEntries = projected.WholeRecord(
	fold.New[*StoreError](Entry.Ident, (*Store).Read, book, (*Store).Commit,
		schedule.Exponential(time.Millisecond).Jittered().And(schedule.Recurs(2))),
	Record.Pending,
	(*Store).Project,
)

// describe is what a client is told. Committed is a success: the entry is durable, only its view is late.
func describe(o projected.Outcome[*StoreError, int], err error) string {
	switch {
	case ferry.NotSent(err):
		return "too busy, try again"
	case err != nil:
		return "not known to be stored, try again"
	case o.Status == projected.Committed:
		return fmt.Sprintf("stored at %d, view pending (%v)", o.Result, o.Err)
	}
	return fmt.Sprintf("stored at %d", o.Result)
}

func Example() {
	ctx := context.Background()
	store := &Store{records: map[string]Record{}, views: map[string][]string{}}
	lanes := ferry.PerKey(ferry.Config{}, Entry.Key, bookEntries.Provide(store).Call)
	fmt.Println(describe(lanes.Submit(ctx, Entry{"e1", "acme"})))

	store.down = true
	fmt.Println(describe(lanes.Submit(ctx, Entry{"e2", "acme"})))
	fmt.Println(store.views["acme"])

	store.down = false
	left, err := bookEntries.Provide(store).Resume(ctx, "acme")
	fmt.Println(store.views["acme"], len(left), err)
	fmt.Println(lanes.Close(ctx))
	// Output:
	// stored at 0
	// stored at 1, view pending (the view is down)
	// [e1]
	// [e1 e2] 0 <nil>
	// <nil>
}

func ExampleSweeper() {
	store := &Store{records: map[string]Record{"acme": {Version: 1, Log: []string{"e1", "e2"}}}, views: map[string][]string{}}
	ctx, stop := context.WithCancel(context.Background())
	sweeper := projected.NewSweeper(bookEntries, store, (*Store).PendingEntities)
	sweeper.OnVisit = func(entity string, left projected.Projection[string], err error) {
		fmt.Println("visited", entity, len(left), err)
		stop()
	}
	fmt.Println(errors.Is(sweeper.Run(ctx), context.Canceled), store.views["acme"])
	// Output:
	// visited acme 0 <nil>
	// true [e1 e2]
}

func ExampleRows() {
	// A view of one row per entry: the record yields the rows, the store says which are missing, writes them each
	// on its own, and clears the marker.
	rows := map[string]bool{}
	throttled := true
	project := projected.Rows(
		func(r Record) iter.Seq2[string, string] {
			return func(yield func(string, string) bool) {
				for _, id := range r.Log {
					if !yield(id, "row of "+id) {
						return
					}
				}
			}
		},
		func(_ *Store, _ context.Context, _ string, r Record) ([]string, error) {
			return slices.DeleteFunc(slices.Clone(r.Log), func(id string) bool { return rows["row of "+id] }), nil
		},
		func(_ *Store, _ context.Context, _ string, missing []string) []error {
			errs := make([]error, len(missing))
			for i, row := range missing {
				if row == "row of e2" && throttled {
					errs[i] = &StoreError{"throttled"}
				} else {
					rows[row] = true
				}
			}
			return errs
		},
		func(s *Store, _ context.Context, entity string, r Record) error {
			r.Projected = len(r.Log)
			s.records[entity] = r
			return nil
		},
	)
	write := projected.New(bookEntries.Fold, Record.Pending, project)

	ctx := context.Background()
	store := &Store{records: map[string]Record{}}
	batch := []Entry{{"e1", "acme"}, {"e2", "acme"}, {"e3", "acme"}}
	outcomes, err := write.Provide(store).Call(ctx, "acme", batch)
	for _, o := range outcomes {
		fmt.Println(describe(o, err))
	}
	throttled = false
	left, err := write.Provide(store).Resume(ctx, "acme")
	fmt.Println(len(rows), len(left), err)
	// Output:
	// stored at 0
	// stored at 1, view pending (throttled)
	// stored at 2
	// 3 0 <nil>
}
