package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/schedule"
)

var (
	one, two, three = Entry{ID: "one", N: 1}, Entry{ID: "two", N: 2}, Entry{ID: "three", N: 3}
	none            = Record{}
)

// Test runs the checks of whole round trips on one store that open answers, each on keys of its own. The contract
// package has those of single calls.
func Test(t *testing.T, open func(t *testing.T) Subject) {
	s := open(t)
	tests := []struct {
		name  string
		check func(t *testing.T, s Subject, key string)
	}{
		{"an absent key is the zero record", absent},
		{"a projection shows the log once", projection},
		{"a second projection is a conflict", projectTwice},
		{"a commit on the record before its projection is a conflict", commitOverProjection},
		{"a fence that was never given out is a conflict", unknownFence},
		{"a delete is fenced", deletes},
		{"a delete takes the view along", deletesView},
		{"keys of every kind of text are themselves", texts},
		{"a listing may be left early and used while it yields", listings},
		{"contended increments add up", contended},
		{"one of many concurrent resumes lands", resumes},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t, s, fmt.Sprintf("contract-%d", i))
		})
	}
}

func absent(t *testing.T, s Subject, key string) {
	if got := read(t, s, key); got.Fence != 0 || got.Behind || len(got.Body.Entries) != 0 {
		t.Errorf("got %+v, want the zero record", got)
	}
	wantShown(t, s, key)
	if isPending(t, s, key) || slices.Contains(collect(t, s.Keys(t.Context())), key) {
		t.Error("an absent key is listed")
	}
	_, err := s.Project(t.Context(), key, none)
	wantClass(t, err, backends.ErrConflict)
}

func projection(t *testing.T, s Subject, key string) {
	first := add(t, s, key, none, one)
	mustProject(t, s, key, first)
	wantShown(t, s, key, one)
	second := add(t, s, key, read(t, s, key), two)
	wantShown(t, s, key, one)
	mustProject(t, s, key, second)
	wantShown(t, s, key, one, two)
	if got := read(t, s, key); !slices.Equal(got.Body.Entries, []Entry{one, two}) {
		t.Errorf("a projection changed the log: %v", got.Body.Entries)
	}
}

func projectTwice(t *testing.T, s Subject, key string) {
	record := add(t, s, key, none, one)
	mustProject(t, s, key, record)
	_, err := s.Project(t.Context(), key, record)
	wantClass(t, err, backends.ErrConflict)
	wantShown(t, s, key, one)
}

func commitOverProjection(t *testing.T, s Subject, key string) {
	record := add(t, s, key, none, one)
	mustProject(t, s, key, record)
	_, err := s.Commit(t.Context(), key, record, entries(record.Body, two))
	wantClass(t, err, backends.ErrConflict)
	if got := read(t, s, key); got.Behind || len(got.Body.Entries) != 1 {
		t.Errorf("got %+v, want the projected record", got)
	}
}

func unknownFence(t *testing.T, s Subject, key string) {
	held := add(t, s, key, none, one)
	for _, fence := range []backends.Fence{held.Fence + 1<<40, 1 << 63, ^backends.Fence(0)} {
		stale := Record{Body: held.Body, Fence: fence, Behind: true}
		_, commitErr := s.Commit(t.Context(), key, stale, entries(held.Body, two))
		_, projectErr := s.Project(t.Context(), key, stale)
		for _, err := range []error{commitErr, projectErr, s.Delete(t.Context(), key, stale)} {
			wantClass(t, err, backends.ErrConflict)
		}
	}
	if got := read(t, s, key); got.Fence != held.Fence || len(got.Body.Entries) != 1 {
		t.Errorf("got %+v, want %+v", got, held)
	}
}

func deletes(t *testing.T, s Subject, key string) {
	wantClass(t, s.Delete(t.Context(), key, none), backends.ErrConflict)
	first := add(t, s, key, none, one)
	second := add(t, s, key, first, two)
	wantClass(t, s.Delete(t.Context(), key, first), backends.ErrConflict)
	if err := s.Delete(t.Context(), key, second); err != nil {
		t.Fatalf("delete: got %v, want success", err)
	}
	absent(t, s, key)
	third := add(t, s, key, none, three)
	for _, stale := range []Record{first, second} {
		_, err := s.Commit(t.Context(), key, stale, entries(Log{}, one))
		wantClass(t, err, backends.ErrConflict)
	}
	if got := read(t, s, key); got.Fence != third.Fence {
		t.Errorf("fence: got %d, want %d", got.Fence, third.Fence)
	}
}

func deletesView(t *testing.T, s Subject, key string) {
	record := add(t, s, key, none, one)
	mustProject(t, s, key, record)
	wantShown(t, s, key, one)
	if err := s.Delete(t.Context(), key, read(t, s, key)); err != nil {
		t.Fatalf("delete: got %v, want success", err)
	}
	wantShown(t, s, key)
}

func texts(t *testing.T, s Subject, key string) {
	suffixes := []string{"", "\x01", " ", "'", `"`, "%_", "é", "e\u0301", "😀", "A", "a", strings.Repeat("long", 300)}
	for i, suffix := range suffixes {
		add(t, s, key+suffix, none, Entry{ID: suffix, N: i})
	}
	listed := collect(t, s.Keys(t.Context()))
	for i, suffix := range suffixes {
		record := read(t, s, key+suffix)
		if want := []Entry{{ID: suffix, N: i}}; !slices.Equal(record.Body.Entries, want) {
			t.Errorf("key %q: got %v, want %v", key+suffix, record.Body.Entries, want)
		}
		if !slices.Contains(listed, key+suffix) {
			t.Errorf("key %q is not listed", key+suffix)
		}
		mustProject(t, s, key+suffix, record)
		wantShown(t, s, key+suffix, Entry{ID: suffix, N: i})
	}
}

// More keys than any store reads in one page, and some of them projected while the rest are listed.
func listings(t *testing.T, s Subject, key string) {
	const many = 260
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { add(t, s, fmt.Sprintf("%s-%03d", key, i), none, one) })
	}
	all.Wait()
	listed := 0
	for k, err := range s.PendingKeys(t.Context()) {
		if err != nil {
			t.Fatalf("listing: got %v, want keys", err)
		}
		if !strings.HasPrefix(k, key) {
			continue
		}
		if listed++; listed%20 == 0 {
			mustProject(t, s, k, read(t, s, k))
		}
	}
	if listed != many {
		t.Errorf("keys listed: got %d, want %d", listed, many)
	}
	for range s.Keys(t.Context()) {
		break
	}
}

func contended(t *testing.T, s Subject, key string) {
	const writers, each = 8, 25
	if got, err := Increment(t.Context(), s, key, "", writers, each); got != writers*each || err != nil {
		t.Errorf("acknowledged: got %d, %v, want %d", got, err, writers*each)
	}
	if got := len(read(t, s, key).Body.Entries); got != writers*each {
		t.Errorf("entries: got %d, want %d", got, writers*each)
	}
}

// Increment lets writers add to one log at once, each so many entries, and answers how many were acknowledged. Several
// calls on one key need different names. It ends within [Patience].
func Increment(ctx context.Context, s Subject, key, name string, writers, each int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	retry := schedule.Exponential(time.Millisecond).Capped(20 * time.Millisecond).Jittered()
	call := Pipeline(s, retry).Call
	acknowledged, errs := make([]int, writers), make([]error, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				e := Entry{ID: fmt.Sprintf("%s%d-%d", name, w, n), N: n}
				if _, errs[w] = call(ctx, key, []Entry{e}); errs[w] != nil {
					return
				}
				acknowledged[w]++
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range acknowledged {
		sum += n
	}
	return sum, errors.Join(errs...)
}

func resumes(t *testing.T, s Subject, key string) {
	var record Record
	for n := range 40 {
		record = add(t, s, key, record, Entry{ID: fmt.Sprint(n), N: n})
	}
	var landed, conflicts atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			switch _, err := s.Project(t.Context(), key, record); {
			case err == nil:
				landed.Add(1)
			case errors.Is(err, backends.ErrConflict):
				conflicts.Add(1)
			default:
				t.Errorf("project: %v", err)
			}
		})
	}
	all.Wait()
	if landed.Load() != 1 || conflicts.Load() != 7 {
		t.Errorf("got %d landed and %d conflicts, want 1 and 7", landed.Load(), conflicts.Load())
	}
	// Each once, in any order: rows of projections at once are inserted as they come.
	shown, err := s.Shown(t.Context(), key)
	slices.SortFunc(shown, func(a, b Entry) int { return cmp.Compare(a.N, b.N) })
	if err != nil || !slices.Equal(shown, record.Body.Entries) {
		t.Errorf("view of %s: got %v, %v, want each of %d entries once", key, shown, err, len(record.Body.Entries))
	}
	if isPending(t, s, key) {
		t.Error("still pending")
	}
}
