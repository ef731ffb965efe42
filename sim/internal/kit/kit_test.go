package kit_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim/internal/kit"
)

// TestSoundStoresPass: what keeps the rules is not blamed. The stranger's fence is the least that the rules ask for: a
// projection gives no new version, and a commit compares nothing else.
func TestSoundStoresPass(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		rules rules
		rows  bool
	}{
		{"whole record", rules{}, false},
		{"rows", rules{}, true},
		{"a conflict that does not say that nothing was written", rules{unsureConflict: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rec := takeDown(t.Context(), tt.rules, tt.rows, func(kt kit.T, has kit.Has) {
					kit.Test(kt, has, kit.Effort{Histories: 1500, Virtual: true})
				})
				for name, violations := range rec.all {
					t.Errorf("%s: %v", name, violations)
				}
				if said := rec.logs.String(); !strings.Contains(said, "at random from seed") || strings.Contains(said, " 0 of them with old answers") {
					t.Errorf("the simulation did not run, or nobody was misled: %s", said)
				}
			})
		})
	}
}

// broken is a store with one rule switched off, and the law that must be named.
type broken struct {
	name  string
	rules rules
	rows  bool
	law   kit.Law
}

// TestScriptsFindBrokenRules switches off one rule at a time: the script of its law must name it.
func TestScriptsFindBrokenRules(t *testing.T) {
	t.Parallel()
	tests := []broken{
		{"an absent key fails", rules{failsOnAbsent: true}, false, kit.Absent},
		{"the fence is ignored", rules{ignoresFence: true}, false, kit.StaleCommit},
		{"stale read", rules{readsOld: true}, false, kit.ReadBack},
		{"ack before store", rules{acksOnly: true}, false, kit.ReadBack},
		{"the answer of a commit has the old fence", rules{answersOldFence: true}, false, kit.Accepted},
		{"hidden retry", rules{hiddenRetry: true}, false, kit.Definite},
		{"unknown reported as refused", rules{refusesAfterWriting: true}, false, kit.Ended},
		{"a conflict of no type", rules{plainConflict: true}, false, kit.Typed},
		{"the view is written before the fence is compared", rules{viewBeforeFence: true, unsureConflict: true}, false, kit.Follows},
		{"a commit clears the marker", rules{clearsMarker: true}, false, kit.Marker},
		{"a commit rewinds the watermark", rules{rewinds: true}, false, kit.Marker},
		{"the projection is not fenced", rules{unfencedProject: true}, false, kit.StaleProjection},
		{"the clear is not fenced", rules{unfencedProject: true}, true, kit.StaleProjection},
		{"the clear gives no new fence", rules{projectsTwice: true}, false, kit.NewFence},
		{"the clear of rows gives no new fence", rules{projectsTwice: true}, true, kit.NewFence},
		{"the marker is cleared without a view", rules{noView: true}, false, kit.Honest},
		{"the marker is cleared with a row missing", rules{nothingMissing: true}, true, kit.Absences},
		{"every row is missing for ever", rules{allMissing: true}, true, kit.Absences},
		{"rows are written unconditionally", rules{putsTwice: true}, true, kit.Once},
		{"rows are not written", rules{putsNothing: true}, true, kit.ReadBack},
		{"put answers once for all rows", rules{putAnswersOne: true}, true, kit.PutAnswers},
		{"the index never drops", rules{listsForEver: true}, false, kit.Strays},
		{"the index lags for ever", rules{listsNothing: true}, false, kit.Listed},
		{"the listing is a cursor", rules{listsOnce: true}, false, kit.Cursor},
		{"a listing holds the lock", rules{listsLocked: true}, false, kit.HoldsUp},
		{"identities are joined with a comma", rules{joinsIDs: true}, false, kit.Mangled},
		{"keys lose their case", rules{foldsCase: true}, false, kit.Mangled},
		{"the step applies replays", rules{appliesReplays: true}, false, kit.Replay},
		{"the step appends in place", rules{appendsInPlace: true}, false, kit.Pure},
		{"the step rejects", rules{rejectsSecond: true}, false, kit.Truth},
		{"the projection panics", rules{panics: true}, false, kit.Accepted},
		{"delete is not fenced", rules{deleteIgnoresFence: true}, false, kit.NewLife},
		{"delete leaves the view", rules{deleteKeepsView: true}, false, kit.NewLife},
		{"a new life has old fences", rules{reusesFences: true}, false, kit.NewLife},
		{"reopening loses the marker", rules{forgetsMarker: true}, false, kit.Durable},
		{"reopening loses an entry", rules{forgetsLog: true}, false, kit.Durable},
		{"a handle keeps a cache", rules{cachesReads: true}, false, kit.Shared},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.mustFall(t, kit.Conform)
		})
	}
}

func (b broken) mustFall(t *testing.T, part func(kit.T, kit.Has)) *kit.Violation {
	t.Helper()
	rec := takeDown(t.Context(), b.rules, b.rows, part)
	if !slices.Contains(rec.laws(), b.law.Name) {
		t.Fatalf("laws named: got %q, want %q among them", rec.laws(), b.law.Name)
	}
	for _, violations := range rec.all {
		for _, v := range violations {
			if v.Law == b.law {
				return v
			}
		}
	}
	return nil
}

// TestSimulationFindsBrokenRules has the same stores, without a script: the histories must get there by themselves. The
// smallest one that does is short.
func TestSimulationFindsBrokenRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		broken
		steps int
	}{
		{broken{"the fence is ignored", rules{ignoresFence: true}, false, kit.StaleCommit}, 5},
		{broken{"stale read", rules{readsOld: true}, false, kit.ReadBack}, 2},
		{broken{"ack before store", rules{acksOnly: true}, true, kit.ReadBack}, 2},
		{broken{"hidden retry", rules{hiddenRetry: true}, false, kit.Definite}, 8},
		{broken{"a conflict of no type", rules{plainConflict: true}, false, kit.Typed}, 5},
		{broken{"the view is written before the fence is compared", rules{viewBeforeFence: true, unsureConflict: true}, false, kit.Follows}, 5},
		{broken{"a commit rewinds the watermark", rules{rewinds: true}, false, kit.Once}, 8},
		{broken{"the projection is not fenced", rules{unfencedProject: true}, false, kit.NewFence}, 5},
		{broken{"the clear is not fenced", rules{unfencedProject: true}, true, kit.NewFence}, 8},
		{broken{"the clear gives no new fence", rules{projectsTwice: true}, false, kit.NewFence}, 5},
		{broken{"rows are written unconditionally", rules{putsTwice: true}, true, kit.Once}, 8},
		{broken{"the marker is cleared without a view", rules{noView: true}, false, kit.Honest}, 3},
		{broken{"the index never drops", rules{listsForEver: true}, false, kit.Strays}, 9},
		{broken{"the index lags for ever", rules{listsNothing: true}, false, kit.Listed}, 12},
		{broken{"the step applies replays", rules{appliesReplays: true}, false, kit.Once}, 9},
		{broken{"the step appends in place", rules{appendsInPlace: true}, false, kit.ReadBack}, 40},
		{broken{"the step rejects", rules{rejectsSecond: true}, false, kit.Truth}, 12},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := tt.mustFall(t, func(kt kit.T, _ kit.Has) { kit.Simulate(kt, kit.Effort{Histories: 4000, Seed: 1}) })
			if got := len(v.History.Steps); got > tt.steps {
				t.Errorf("steps: got %d, want at most %d", got, tt.steps)
			}
		})
	}
}

// TestCrowdsFindBrokenRules is for rules that show only when calls overlap. In virtual time they overlap in every run.
func TestCrowdsFindBrokenRules(t *testing.T) {
	t.Parallel()
	tests := []broken{
		{"compare and write are two steps", rules{fenceInTwoSteps: true}, false, kit.AddUp},
		{"compare and write are two steps, in every order", rules{fenceInTwoSteps: true}, false, kit.Linear},
		{"a commit is seen before it is refused", rules{dirtyReads: true}, false, kit.Linear},
		{"compare and clear are two steps", rules{projectInTwoSteps: true}, false, kit.OneLands},
		{"a group commit fails its neighbours", rules{poisonsOthers: true}, false, kit.Neighbours},
		{"the view lags", rules{viewLags: true, takesTime: true}, false, kit.Backwards},
		{"a refusal after the context has ended", rules{refusesAfterWriting: true, takesTime: true}, false, kit.Definite},
		{"a conflict of no type", rules{plainConflict: true, takesTime: true}, false, kit.Typed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tt.mustFall(t, func(kt kit.T, _ kit.Has) { kit.Stress(kt, kit.Effort{}) })
			})
		})
	}
}

// TestPartsStopAtTheFirstThatFails: what leans on broken laws is not run.
func TestPartsStopAtTheFirstThatFails(t *testing.T) {
	t.Parallel()
	rec := takeDown(t.Context(), rules{ignoresFence: true}, false, func(kt kit.T, has kit.Has) { kit.Test(kt, has, kit.Effort{}) })
	for name := range maps.Keys(rec.all) {
		if name == "simulation" || strings.HasPrefix(name, "at once") {
			t.Errorf("%q ran", name)
		}
	}
	if got := rec.logs.String(); !strings.Contains(got, "the rest was not run") {
		t.Errorf("log: got %q, want it to say so", got)
	}
}

// TestSubjectsMustMakeSense: what the user says of the store is checked before the store is.
func TestSubjectsMustMakeSense(t *testing.T) {
	t.Parallel()
	sound := func() subject {
		return subject{
			Fold:    fold.New[*failure](func(in string) string { return in }, (*store).Read, open(rules{}).step, (*store).Write, schedule.Stop()),
			Failure: func() *failure { return &failure{what: "throttled"} },
			Key:     func(n int) string { return fmt.Sprint(n) },
			Input:   func(_ string, n int) string { return fmt.Sprint(n) },
		}
	}
	s := sound()
	if err := s.Prepare(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	s = sound()
	s.Input = func(_ string, n int) string { return fmt.Sprint(n % 10) }
	if err := s.Prepare(); err == nil || !strings.Contains(err.Error(), "input(key, 0) and input(key, 10)") {
		t.Errorf("got %v, want the inputs that are the same", err)
	}
}
