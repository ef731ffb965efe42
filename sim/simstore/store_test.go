package simstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/sim/simstore"
)

const a, b = simstore.ID(0), simstore.ID(1)

// A projection that was delayed is refused when it lands: the record has changed meanwhile.
func Example() {
	store := simstore.New(simstore.Rules{}, "k")
	first := store.Do(simstore.Request{Op: simstore.Commit, Key: "k", Log: []simstore.ID{a}}).Record
	delayed := simstore.Request{Op: simstore.Project, Key: "k", Held: first}
	store.Do(simstore.Request{Op: simstore.Commit, Key: "k", Held: first, Log: []simstore.ID{a, b}})
	fmt.Println(store.Do(delayed).Err)
	fmt.Println(store.Cell("k").Record)
	// Output:
	// project k: conflict: the record is not the one that was read
	// {2 1 [a b]}
}

// TestFences writes for a record that is stale in one way, the other, or both.
func TestFences(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fence                 simstore.Fence
		version, marker, both bool // whether a write for such a record is accepted
	}{
		{simstore.WholeRecord, false, false, false},
		{simstore.VersionOnly, false, true, false},
		{simstore.MarkerOnly, true, false, false},
		{simstore.NoFence, true, true, true},
	}
	for _, test := range tests {
		for _, op := range []simstore.Op{simstore.Commit, simstore.Project, simstore.Clear} {
			accepts := func(change func(*simstore.Record)) bool {
				s := simstore.New(simstore.Rules{Commit: test.fence, Project: test.fence}, "k")
				held := s.Do(simstore.Request{Op: simstore.Commit, Key: "k", Log: []simstore.ID{a}}).Record
				change(&held)
				err := s.Do(simstore.Request{Op: op, Key: "k", Held: held, Log: held.Log}).Err
				if err != nil && !errors.Is(err, backends.ErrConflict) {
					t.Errorf("got %v, want a conflict", err)
				}
				return err == nil
			}
			if !accepts(func(*simstore.Record) {}) {
				t.Errorf("fence %d: %v for the record as it is was refused", test.fence, op)
			}
			if got := accepts(func(r *simstore.Record) { r.Version = 7 }); got != test.version {
				t.Errorf("fence %d: %v for another version: got %v", test.fence, op, got)
			}
			if got := accepts(func(r *simstore.Record) { r.Marker = 7 }); got != test.marker {
				t.Errorf("fence %d: %v for another marker: got %v", test.fence, op, got)
			}
			if got := accepts(func(r *simstore.Record) { r.Version, r.Marker = 7, 7 }); got != test.both {
				t.Errorf("fence %d: %v for another version and marker: got %v", test.fence, op, got)
			}
		}
	}
}

// TestEveryWriteAdvancesTheVersion is law L32; L28 is that a commit leaves a watermark alone.
func TestEveryWriteAdvancesTheVersion(t *testing.T) {
	t.Parallel()
	for _, marker := range []simstore.Marker{simstore.Flag, simstore.Watermark} {
		s := simstore.New(simstore.Rules{Marker: marker}, "k")
		cell := s.Cell("k")
		for i, op := range []simstore.Op{simstore.Commit, simstore.Project, simstore.Commit, simstore.Clear} {
			before := cell.Record
			log := append(slices.Clip(before.Log), simstore.ID(i))
			if err := s.Do(simstore.Request{Op: op, Key: "k", Held: before, Log: log}).Err; err != nil {
				t.Fatal(err)
			}
			if cell.Record.Version != before.Version+1 {
				t.Errorf("%v: got version %d after %d", op, cell.Record.Version, before.Version)
			}
			if got, want := marker.Pending(cell.Record), op == simstore.Commit; got != want {
				t.Errorf("%v: got pending %v, want %v", op, got, want)
			}
			if marker == simstore.Watermark && op == simstore.Commit && cell.Record.Marker != before.Marker {
				t.Errorf("commit: got watermark %d, want %d", cell.Record.Marker, before.Marker)
			}
		}
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	s := simstore.New(simstore.Rules{}, "k")
	put := simstore.Request{Op: simstore.Put, Key: "k", Row: b}
	s.Do(put)
	s.Do(put)
	if got, want := s.Cell("k").View, []simstore.ID{b}; !slices.Equal(got, want) {
		t.Errorf("got rows %v, want %v", got, want)
	}
	missing := s.Do(simstore.Request{Op: simstore.Missing, Key: "k", Held: simstore.Record{Log: []simstore.ID{a, b}}}).Rows
	if want := []simstore.ID{a}; !slices.Equal(missing, want) {
		t.Errorf("got missing %v, want %v", missing, want)
	}
}

// TestReadersShareSpareCapacity: a step that appends in place must be found out.
func TestReadersShareSpareCapacity(t *testing.T) {
	t.Parallel()
	s := simstore.New(simstore.Rules{}, "k")
	s.Do(simstore.Request{Op: simstore.Commit, Key: "k", Log: []simstore.ID{a}})
	read := func() []simstore.ID { return s.Do(simstore.Request{Op: simstore.Read, Key: "k"}).Record.Log }
	one, two := append(read(), a), append(read(), b)
	if one[1] != two[1] {
		t.Error("two readers have memory of their own")
	}
	if got, want := read(), []simstore.ID{a}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: the kept log itself was changed", got, want)
	}
}
