package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/faults"
	"github.com/goferry/goferry/backends/internal/contract"
)

var (
	ctx    = context.Background()
	always = faults.Rate{P: 1}
)

// viewSubject and rowSubject are memory stores of which what the contract knows goes through f.
func viewSubject(f *faults.Faults) contract.Subject {
	inner := contract.NewView()
	wrapped := faults.View(f, inner)
	s := contract.OfView(inner)
	s.Store, s.Settle = wrapped, wrapped.Project
	return s
}

func rowSubject(f *faults.Faults) contract.Subject {
	inner := contract.NewRows()
	wrapped := faults.Rows(f, inner)
	s := contract.OfRows(inner)
	s.Store, s.Settle, s.Rows = wrapped, wrapped.Clear, wrapped
	return s
}

func TestWithoutFaultsTheContractIsKept(t *testing.T) {
	t.Parallel()
	for name, subject := range map[string]func(*faults.Faults) contract.Subject{"view": viewSubject, "rows": rowSubject} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contract.Test(t, func() contract.Subject { return subject(faults.New(faults.Plan{})) })
		})
	}
}

// operation is one call of each kind on a store that holds a record of "k", which is behind, and no row.
type operation struct {
	op   faults.Op
	plan func(faults.Mix) faults.Plan // with the mix for op
	call func(ctx context.Context, s stores) error
	// done says whether the store shows that the call was carried out. It is nil for calls that only read.
	done func(s stores) bool
}

// stores are a wrapped store of either kind, what is inside, and the record that both hold.
type stores struct {
	view   backends.ViewStore[string, []string]
	rows   backends.RowStore[string, []string, string, string]
	inView interface {
		backends.Store[string, []string]
	}
	inRows interface {
		backends.Store[string, []string]
		Rows(context.Context, string) ([]string, error)
	}
	record contract.Record
}

func newStores(f *faults.Faults) stores {
	inView, inRows := contract.NewView(), contract.NewRows()
	next := contract.Record{Body: []string{"a"}, Behind: true}
	inRows.Commit(ctx, "k", contract.Record{}, next)
	record, _ := inView.Commit(ctx, "k", contract.Record{}, next) // The same fence: both are new.
	return stores{faults.View(f, inView), faults.Rows(f, inRows), inView, inRows, record}
}

var operations = []operation{
	{
		op:   faults.Read,
		plan: func(m faults.Mix) faults.Plan { return faults.Plan{Read: m} },
		call: func(ctx context.Context, s stores) error {
			got, err := s.view.Read(ctx, "k")
			return answered(got.Fence != 0, err)
		},
	},
	{
		op:   faults.List,
		plan: func(m faults.Mix) faults.Plan { return faults.Plan{List: m} },
		call: func(ctx context.Context, s stores) error {
			var last error
			for _, err := range s.view.PendingKeys(ctx) {
				last = err
			}
			return last
		},
	},
	{
		op:   faults.Missing,
		plan: func(m faults.Mix) faults.Plan { return faults.Plan{Missing: m} },
		call: func(ctx context.Context, s stores) error {
			ids, err := s.rows.Missing(ctx, "k", s.record)
			return answered(len(ids) > 0, err)
		},
	},
	{
		op:   faults.Commit,
		plan: func(m faults.Mix) faults.Plan { return faults.Plan{Commit: m} },
		call: func(ctx context.Context, s stores) error {
			got, err := s.view.Commit(ctx, "k", s.record, contract.Record{Body: []string{"a", "b"}})
			return answered(got.Fence != 0, err)
		},
		done: func(s stores) bool { return fenceIn(s.inView) != s.record.Fence },
	},
	{
		op:   faults.Project,
		plan: func(m faults.Mix) faults.Plan { return faults.Plan{Project: m} },
		call: func(ctx context.Context, s stores) error { return s.view.Project(ctx, "k", s.record) },
		done: func(s stores) bool { return fenceIn(s.inView) != s.record.Fence },
	},
	{
		op:   faults.Put,
		plan: func(m faults.Mix) faults.Plan { return faults.Plan{Put: m} },
		call: func(ctx context.Context, s stores) error { return s.rows.Put(ctx, "k", []string{"a"})[0] },
		done: func(s stores) bool {
			rows, _ := s.inRows.Rows(ctx, "k")
			return len(rows) == 1
		},
	},
	{
		op:   faults.Clear,
		plan: func(m faults.Mix) faults.Plan { return faults.Plan{Clear: m} },
		call: func(ctx context.Context, s stores) error { return s.rows.Clear(ctx, "k", s.record) },
		done: func(s stores) bool { return fenceIn(s.inRows) != s.record.Fence },
	},
}

func fenceIn(store backends.Store[string, []string]) backends.Fence {
	record, _ := store.Read(ctx, "k")
	return record.Fence
}

// answered wants an answer or an error, not both and not neither.
func answered(answer bool, err error) error {
	if answer == (err != nil) {
		return fmt.Errorf("an answer (%v) beside the error %v", answer, err)
	}
	return err
}

// TestFaultsAreTrue has each fault meet each operation: class and cause are right, and the store shows what the class
// says. L33.
func TestFaultsAreTrue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		mix    faults.Mix
		before func(*faults.Faults)
		class  error
		cause  error
		done   bool // as soon as it is answered
		landed bool // after Land
	}{
		{name: "throttled", mix: faults.Mix{Throttle: always}, class: backends.ErrRefused, cause: faults.ErrThrottled},
		{name: "broken", before: func(f *faults.Faults) { f.Break() }, class: backends.ErrRefused, cause: faults.ErrDown},
		{name: "crashed", before: (*faults.Faults).Crash, class: backends.ErrRefused, cause: faults.ErrCrashed},
		{name: "lost", mix: faults.Mix{Lost: always}, class: backends.ErrUnknown, cause: faults.ErrLost, done: true, landed: true},
		{name: "late", mix: faults.Mix{Late: always}, class: backends.ErrUnknown, cause: faults.ErrLate, landed: true},
		{name: "throttled before lost", mix: faults.Mix{Throttle: always, Lost: always}, class: backends.ErrRefused, cause: faults.ErrThrottled},
		{name: "lost before late", mix: faults.Mix{Lost: always, Late: always}, class: backends.ErrUnknown, cause: faults.ErrLost, done: true, landed: true},
	}
	for _, tt := range tests {
		for _, o := range operations {
			if o.done == nil && tt.mix.Late != (faults.Rate{}) {
				continue // Only writes are late.
			}
			t.Run(tt.name+"/"+string(o.op), func(t *testing.T) {
				t.Parallel()
				f := faults.New(o.plan(tt.mix))
				if tt.before != nil {
					tt.before(f)
				}
				s := newStores(f)
				err := o.call(ctx, s)
				e, ok := errors.AsType[*backends.Error](err)
				if !ok || e.Class != tt.class || !errors.Is(err, tt.cause) || e.Op != string(o.op) {
					t.Errorf("got %v, want class %v, cause %v", err, tt.class, tt.cause)
				}
				if o.done == nil {
					return
				}
				if got := o.done(s); got != tt.done {
					t.Errorf("carried out: got %v, want %v", got, tt.done)
				}
				f.Land()
				if got := o.done(s); got != tt.landed {
					t.Errorf("carried out after Land: got %v, want %v", got, tt.landed)
				}
			})
		}
	}
}

// TestSwitches breaks and heals one operation, then all, and crashes and restarts.
func TestSwitches(t *testing.T) {
	t.Parallel()
	f := faults.New(faults.Plan{})
	steps := []struct {
		name string
		do   func()
		fail []faults.Op
	}{
		{"new", func() {}, nil},
		{"break two", func() { f.Break(faults.Project, faults.Put) }, []faults.Op{faults.Project, faults.Put}},
		{"heal one", func() { f.Heal(faults.Put) }, []faults.Op{faults.Project}},
		{"break all", func() { f.Break() }, []faults.Op{faults.Read, faults.List, faults.Missing, faults.Commit, faults.Project, faults.Put, faults.Clear}},
		{"heal all", func() { f.Heal() }, nil},
		{"crash", f.Crash, []faults.Op{faults.Read, faults.List, faults.Missing, faults.Commit, faults.Project, faults.Put, faults.Clear}},
		{"heal does not restart", func() { f.Heal() }, []faults.Op{faults.Read, faults.List, faults.Missing, faults.Commit, faults.Project, faults.Put, faults.Clear}},
		{"restart", f.Restart, nil},
	}
	for _, step := range steps {
		step.do()
		var failed []faults.Op
		for _, o := range operations {
			if err := o.call(ctx, newStores(f)); err != nil {
				failed = append(failed, o.op)
			}
		}
		if !slices.Equal(failed, step.fail) {
			t.Errorf("%s: got %v failing, want %v", step.name, failed, step.fail)
		}
	}
}

// TestConflictsAreTheStores: a fault adds errors, and takes none away unless it loses the answer.
func TestConflictsAreTheStores(t *testing.T) {
	t.Parallel()
	s := newStores(faults.New(faults.Plan{}))
	_, err := s.view.Commit(ctx, "k", contract.Record{}, contract.Record{})
	if !errors.Is(err, backends.ErrConflict) {
		t.Errorf("got %v, want the store's conflict", err)
	}
	s = newStores(faults.New(faults.Plan{Commit: faults.Mix{Lost: always}}))
	_, err = s.view.Commit(ctx, "k", contract.Record{}, contract.Record{})
	if !errors.Is(err, backends.ErrUnknown) || errors.Is(err, backends.ErrConflict) {
		t.Errorf("got %v, want the conflict lost with its answer", err)
	}
}

// TestRowsFailOnTheirOwn puts rows of which the second is throttled, the fourth lost and the sixth late.
func TestRowsFailOnTheirOwn(t *testing.T) {
	t.Parallel()
	puts := 0
	inner := contract.NewRows()
	f := faults.New(faults.Plan{LateBy: -1, Put: faults.Mix{
		Throttle: faults.Rate{N: 1, M: 2}, Lost: faults.Rate{N: 1, M: 3}, Late: faults.Rate{N: 1, M: 5}}})
	store := faults.Rows(f, puttingStore{inner, func(rows []string) []error {
		puts++
		return inner.Put(ctx, "k", rows)
	}})
	rows := []string{"1", "2 throttled", "3 lost", "4 throttled", "5 late", "6 throttled", "7"}
	errs := store.Put(ctx, "k", rows)
	rows[4] = "changed by the caller"
	want := []error{nil, faults.ErrThrottled, faults.ErrLost, faults.ErrThrottled, faults.ErrLate, faults.ErrThrottled, nil}
	if len(errs) != len(want) {
		t.Fatalf("got %v answers, want %v", len(errs), len(want))
	}
	for i := range want {
		if !errors.Is(errs[i], want[i]) {
			t.Errorf("%s: got %v, want %v", rows[i], errs[i], want[i])
		}
	}
	if got, _ := inner.Rows(ctx, "k"); !slices.Equal(got, []string{"1", "3 lost", "7"}) {
		t.Errorf("got rows %v", got)
	}
	if puts != 1 {
		t.Errorf("got %v puts for the rows that arrive, want 1", puts)
	}
	f.Land()
	if got, _ := inner.Rows(ctx, "k"); !slices.Equal(got, []string{"1", "3 lost", "7", "5 late"}) {
		t.Errorf("got rows %v after Land", got)
	}
}

type puttingStore struct {
	backends.RowStore[string, []string, string, string]
	put func(rows []string) []error
}

func (s puttingStore) Put(_ context.Context, _ string, rows []string) []error { return s.put(rows) }

// TestWrongCountOfAnswersStaysOne: a store's defect is not patched up.
func TestWrongCountOfAnswersStaysOne(t *testing.T) {
	t.Parallel()
	f := faults.New(faults.Plan{Put: faults.Mix{Throttle: faults.Rate{N: 1, M: 2}}})
	for _, answers := range []int{0, 1, 3, 4} {
		store := faults.Rows(f, puttingStore{contract.NewRows(), func([]string) []error { return make([]error, answers) }})
		if got := store.Put(ctx, "k", []string{"a", "b", "c", "d"}); len(got) == 4 {
			t.Errorf("got an answer for each row, from a store that gave %v for 2", answers)
		}
	}
}

// TestStoreOwnRowErrors arrive at their rows.
func TestStoreOwnRowErrors(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	f := faults.New(faults.Plan{Put: faults.Mix{Throttle: faults.Rate{N: 1, M: 2}}})
	store := faults.Rows(f, puttingStore{contract.NewRows(), func([]string) []error { return []error{nil, own} }})
	errs := store.Put(ctx, "k", []string{"a", "b", "c", "d"})
	if errs[0] != nil || !errors.Is(errs[1], faults.ErrThrottled) || errs[2] != own || !errors.Is(errs[3], faults.ErrThrottled) {
		t.Errorf("got %v", errs)
	}
}

func TestCrashPoints(t *testing.T) {
	t.Parallel()
	f := faults.New(faults.Plan{Put: faults.Mix{CrashAfter: 2}, Commit: faults.Mix{CrashAfter: 1}})
	inner := contract.NewRows()
	store := faults.Rows(f, inner)

	errs := store.Put(ctx, "k", []string{"a", "b", "c"})
	if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], faults.ErrCrashed) {
		t.Errorf("got %v, want the third row cut off", errs)
	}
	if _, err := store.Read(ctx, "k"); !errors.Is(err, faults.ErrCrashed) {
		t.Errorf("got %v from a read after the crash", err)
	}
	if rows, _ := inner.Rows(ctx, "k"); !slices.Equal(rows, []string{"a", "b"}) {
		t.Errorf("got rows %v, want those before the crash", rows)
	}

	f.Restart()
	if errs := store.Put(ctx, "k", []string{"c", "d", "e"}); errors.Join(errs...) != nil {
		t.Errorf("got %v after the restart: a crash point is met once", errs)
	}
	if _, err := store.Commit(ctx, "k", contract.Record{}, contract.Record{}); err != nil {
		t.Errorf("got %v from the last commit before a crash", err)
	}
	if errs := store.Put(ctx, "k", []string{"f"}); !errors.Is(errs[0], faults.ErrCrashed) {
		t.Errorf("got %v after the second crash", errs)
	}
}

// TestCrashPointAmongConcurrentCalls: no call slips through.
func TestCrashPointAmongConcurrentCalls(t *testing.T) {
	t.Parallel()
	f := faults.New(faults.Plan{Commit: faults.Mix{CrashAfter: 50}})
	inner := contract.NewView()
	store := faults.View(f, inner)
	var all sync.WaitGroup
	for writer := range 8 {
		all.Go(func() {
			for n := range 25 {
				store.Commit(ctx, fmt.Sprint(writer, "-", n), contract.Record{}, contract.Record{})
			}
		})
	}
	all.Wait()
	held := 0
	for range inner.Keys(ctx) {
		held++
	}
	if held != 50 {
		t.Errorf("got %v commits carried out, want 50", held)
	}
}

// TestLateWritesLand: each lands before one of the next LateBy calls, and before each of them some do.
func TestLateWritesLand(t *testing.T) {
	t.Parallel()
	for lateBy, want := range map[int]int{0: 8, 1: 1, 4: 4} {
		after := map[int]int{}
		for seed := range uint64(100) {
			landed := false
			f := faults.New(faults.Plan{Seed: seed, LateBy: lateBy, Commit: faults.Mix{Late: always}, Hook: func(e faults.Event) {
				landed = landed || e.Landed
			}})
			s := newStores(f)
			s.view.Commit(ctx, "k", s.record, contract.Record{})
			calls := 0
			for ; !landed && calls < 20; calls++ {
				s.rows.Missing(ctx, "k", s.record)
			}
			after[calls]++
			if fenceIn(s.inView) == s.record.Fence {
				t.Fatalf("late by %v, seed %v: the late commit is not in the store", lateBy, seed)
			}
		}
		for calls := 1; calls <= want; calls++ {
			if after[calls] == 0 {
				t.Errorf("late by %v: none landed before call %v: %v", lateBy, calls, after)
			}
		}
		if len(after) != want {
			t.Errorf("late by %v: got landings before calls %v, want 1 to %v", lateBy, after, want)
		}
	}
}

// TestLateWritesAreFenced: one that was overtaken changes nothing, and one whose caller has left still lands.
func TestLateWritesAreFenced(t *testing.T) {
	t.Parallel()
	f := faults.New(faults.Plan{LateBy: -1, Commit: faults.Mix{Late: faults.Rate{N: 1, M: 2}}})
	inner := contract.NewView()
	store := faults.View(f, inner)
	commit := func(ctx context.Context, read contract.Record, id string) contract.Record {
		stored, _ := store.Commit(ctx, "k", read, contract.Record{Body: []string{id}})
		return stored
	}
	first := commit(ctx, contract.Record{}, "first")
	commit(ctx, first, "late")
	second := commit(ctx, first, "second")
	if n := f.Land(); n != 1 {
		t.Errorf("got %v landings, want 1", n)
	}
	if held, _ := inner.Read(ctx, "k"); !slices.Equal(held.Body, []string{"second"}) {
		t.Errorf("got %v, want what overtook the late write", held.Body)
	}
	leaving, cancel := context.WithCancel(ctx)
	commit(leaving, second, "late again")
	cancel()
	f.Land()
	if held, _ := inner.Read(ctx, "k"); !slices.Equal(held.Body, []string{"late again"}) {
		t.Errorf("got %v, want the write of the caller who left", held.Body)
	}
	if n := f.Land(); n != 0 {
		t.Errorf("got %v landings more, want none", n)
	}
}

func TestLateRowsOutliveTheirContext(t *testing.T) {
	t.Parallel()
	f := faults.New(faults.Plan{LateBy: -1, Put: faults.Mix{Late: always}})
	inner := contract.NewRows()
	leaving, cancel := context.WithCancel(ctx)
	faults.Rows(f, inner).Put(leaving, "k", []string{"a"})
	cancel()
	f.Land()
	if rows, _ := inner.Rows(ctx, "k"); !slices.Equal(rows, []string{"a"}) {
		t.Errorf("got rows %v, want the late one", rows)
	}
}

// TestLateWritesWaitForTheStore: nothing lands before a call that does not reach the store.
func TestLateWritesWaitForTheStore(t *testing.T) {
	t.Parallel()
	f := faults.New(faults.Plan{LateBy: 1, Commit: faults.Mix{Late: always}})
	s := newStores(f)
	s.view.Commit(ctx, "k", s.record, contract.Record{})
	landed := func() bool {
		s.view.Read(ctx, "k")
		return fenceIn(s.inView) != s.record.Fence
	}
	f.Break()
	if landed() {
		t.Error("it landed in an outage")
	}
	f.Heal()
	f.Crash()
	if landed() {
		t.Error("it landed before a call of a crashed process")
	}
	f.Restart()
	if !landed() {
		t.Error("it did not land before the first call that reached the store")
	}
}

// TestPanickingLateWrite: the others land with the next Land.
func TestPanickingLateWrite(t *testing.T) {
	t.Parallel()
	f := faults.New(faults.Plan{LateBy: -1, Put: faults.Mix{Late: always}})
	var put []string
	store := faults.Rows(f, puttingStore{contract.NewRows(), func(rows []string) []error {
		if rows[0] == "bomb" {
			panic("bomb")
		}
		put = append(put, rows...)
		return make([]error, len(rows))
	}})
	store.Put(ctx, "k", []string{"bomb", "a"})
	if got := panicOf(func() { f.Land() }); got != "bomb" {
		t.Errorf("got panic %v, want bomb", got)
	}
	if n := f.Land(); n != 1 || !slices.Equal(put, []string{"a"}) {
		t.Errorf("got %v landings, rows %v", n, put)
	}
}

// TestLostListingBreaksOff: what it lists is right, and it says that it is not all.
func TestLostListingBreaksOff(t *testing.T) {
	t.Parallel()
	inner := contract.NewView()
	for i := range 20 {
		inner.Commit(ctx, fmt.Sprint(i), contract.Record{}, contract.Record{Behind: true})
	}
	lengths := map[int]bool{}
	for seed := range uint64(20) {
		store := faults.View(faults.New(faults.Plan{Seed: seed, List: faults.Mix{Lost: always}}), inner)
		var keys []string
		var last error
		for key, err := range store.PendingKeys(ctx) {
			if last != nil {
				t.Fatal("the listing goes on after its error")
			}
			if last = err; err == nil {
				keys = append(keys, key)
			}
		}
		if !errors.Is(last, faults.ErrLost) || len(keys) == 20 {
			t.Errorf("got %v keys, then %v", len(keys), last)
		}
		lengths[len(keys)] = true
	}
	if len(lengths) < 3 {
		t.Errorf("got listings of lengths %v only", lengths)
	}
	for range faults.View(faults.New(faults.Plan{}), inner).PendingKeys(ctx) {
		break // Leaving early must not go on yielding.
	}
}

// TestHookIsToldOfEverything, and may use the switches: no lock is held.
func TestHookIsToldOfEverything(t *testing.T) {
	t.Parallel()
	var f *faults.Faults
	var events []string
	f = faults.New(faults.Plan{LateBy: 1, Put: faults.Mix{Late: faults.Rate{N: 1, M: 2}}, Hook: func(e faults.Event) {
		events = append(events, fmt.Sprint(e.Op, " ", e.Key, " ", e.Fault, " ", e.Landed))
		f.Heal()
	}})
	s := newStores(f)
	s.rows.Put(ctx, "k", []string{"a", "b"})
	f.Break()
	for range s.rows.PendingKeys(ctx) {
	}
	s.rows.Read(ctx, "k")
	want := []string{
		"put k <nil> false",
		"put k write delayed false",
		"list <nil> down false",
		"read k <nil> false",
		"put k write delayed true",
	}
	if !slices.Equal(events, want) {
		t.Errorf("got %q, want %q", events, want)
	}
}

// TestContendedIncrementsUnderFaults has 8 writers enter 25 identities each, reading again after any error and
// finding those that were written without an answer: every one is in the record, once.
func TestContendedIncrementsUnderFaults(t *testing.T) {
	t.Parallel()
	some := faults.Rate{P: 0.2}
	met := sync.Map{}
	f := faults.New(faults.Plan{
		Seed:   1,
		Read:   faults.Mix{Throttle: some, Lost: some},
		Commit: faults.Mix{Throttle: some, Lost: some, Late: some},
		Hook:   func(e faults.Event) { met.Store(e, true) },
	})
	inner := contract.NewView()
	store := faults.View(f, inner)
	var all sync.WaitGroup
	for writer := range 8 {
		all.Go(func() {
			for n := range 25 {
				enter(store, fmt.Sprint(writer, "-", n))
			}
		})
	}
	all.Wait()
	f.Land()
	held, err := inner.Read(ctx, "k")
	log := slices.Sorted(slices.Values(held.Body))
	if len(log) != 8*25 || len(slices.Compact(log)) != 8*25 || err != nil {
		t.Errorf("got %v entries, %v, want %v, each once", len(held.Body), err, 8*25)
	}
	for _, want := range []faults.Event{
		{Op: faults.Read, Key: "k", Fault: faults.ErrThrottled},
		{Op: faults.Read, Key: "k", Fault: faults.ErrLost},
		{Op: faults.Commit, Key: "k", Fault: faults.ErrThrottled},
		{Op: faults.Commit, Key: "k", Fault: faults.ErrLost},
		{Op: faults.Commit, Key: "k", Fault: faults.ErrLate},
		{Op: faults.Commit, Key: "k", Fault: faults.ErrLate, Landed: true},
	} {
		if _, ok := met.Load(want); !ok {
			t.Errorf("the run did not meet %v", want)
		}
	}
}

// enter is a fold by hand: read, look, commit, until an answer or the record says that id is in.
func enter(store backends.ViewStore[string, []string], id string) {
	for {
		read, err := store.Read(ctx, "k")
		if err != nil {
			continue
		}
		if slices.Contains(read.Body, id) {
			return
		}
		next := contract.Record{Body: append(slices.Clone(read.Body), id), Behind: true}
		if _, err := store.Commit(ctx, "k", read, next); err == nil {
			return
		}
	}
}
