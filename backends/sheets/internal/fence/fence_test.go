package fence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

// world is one spreadsheet with a fence and a log on Sheet1, to which every commit adds its name.
type world struct {
	*testing.T
	server *sheetstest.Server
	client *grid.Client
	*fence.Fence
}

// each runs test in a bubble for every kind of fence that holds under a profile.
func each(t *testing.T, test func(w world)) {
	t.Helper()
	tests := []struct {
		name    string
		kind    fence.Kind
		profile sheetstest.Profile
	}{
		{"metadata/P1", fence.Metadata(), sheetstest.P1},
		{"metadata/P2", fence.Metadata(), sheetstest.P2},
		{"swap/P1", fence.Swap(), sheetstest.P1},
		{"swap/P2", fence.Swap(), sheetstest.P2},
		{"swap/P3", fence.Swap(), sheetstest.P3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(newWorld(t, tt.kind, tt.profile)) })
		})
	}
}

func newWorld(t *testing.T, kind fence.Kind, profile sheetstest.Profile) world {
	server := sheetstest.New(sheetstest.Options{TB: t, Profile: profile})
	service, err := server.Service(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := grid.NewClient(service, server.Create("book"))
	return world{t, server, client, fence.New(client, kind, grid.Protection{})}
}

// lay makes the first fence and answers its state.
func (w world) lay() fence.State {
	w.Helper()
	s, err := w.First(w.Context(), 0, 0)
	if err == nil {
		err = w.Lay(w.Context(), s, nil, nil)
	}
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// entry is the data of a commit: a new row of the log.
func entry(name string) []*sheetsv4.Request {
	return append(grid.Room(0, 1, 1, 1000), grid.Write(0, 1, 0, [][]any{{name}}))
}

func (w world) log() []string {
	var names []string
	for _, row := range w.server.Rows(w.client.ID(), "Sheet1") {
		names = append(names, fmt.Sprint(row...))
	}
	slices.Sort(names)
	return names
}

// read answers the state as the service shows it when no read is stale any more.
func (w world) read() fence.State {
	w.Helper()
	time.Sleep(time.Minute)
	view, err := w.client.Read(w.Context(), fence.Range())
	if err != nil {
		w.Fatal(err)
	}
	s, err := w.Decode(view)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w world) wantLog(want ...string) {
	w.Helper()
	if got := w.log(); !slices.Equal(got, want) {
		w.Errorf("log: got %q, want %q", got, want)
	}
}

func (w world) commit(from fence.State, name string) (fence.State, error) {
	next := from.Next()
	_, err := w.Commit(w.Context(), from, next, entry(name))
	return next, err
}

func (w world) wantErr(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error: got %v, want %v", err, want)
	}
}

func TestCommitsFollowOneAnother(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		s := w.lay()
		for i := range 5 {
			next, err := w.commit(s, fmt.Sprint(i))
			w.wantErr(err, nil)
			s = next
		}
		w.wantLog("0", "1", "2", "3", "4")
		if got := w.read(); got.Number != s.Number || got.Token != s.Token || got.Checksum != s.Checksum {
			w.Errorf("state: got %d %s, want %d %s", got.Number, got.Token, s.Number, s.Token)
		}
	})
}

func TestOfTwoCommittersOneWins(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		s := w.lay()
		_, err := w.commit(s, "first")
		w.wantErr(err, nil)
		_, err = w.commit(s, "second")
		w.wantErr(err, fence.ErrConflict)
		w.wantLog("first")
	})
}

func TestRacingCommittersNeverLoseAnEntry(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		w.lay()
		done := make(chan string)
		for p := range 4 {
			go func() {
				name := fmt.Sprint(p)
				for {
					if _, err := w.commit(w.read(), name); err == nil {
						done <- name
						return
					}
				}
			}()
		}
		for range 4 {
			<-done
		}
		w.wantLog("0", "1", "2", "3")
	})
}

// lost makes the next commit unknown to its caller. The batch is applied at once, never, or later.
func (w world) lost(from fence.State, name string, kind sheetstest.Kind) fence.State {
	w.Helper()
	w.server.SetFaults(func(c sheetstest.Call) sheetstest.Fault {
		if c.Op == sheetstest.OpBatchUpdate {
			return sheetstest.Fault{Kind: kind}
		}
		return sheetstest.Fault{}
	})
	ctx, cancel := context.WithTimeout(w.Context(), 100*time.Millisecond)
	defer cancel()
	next := from.Next()
	_, err := w.Commit(ctx, from, next, entry(name))
	w.wantErr(err, fence.ErrUnknown)
	w.server.SetFaults(nil)
	return next
}

func TestAnUnknownCommitIsSettledForGood(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		kind  sheetstest.Kind
		rival bool
		want  fence.Outcome
		log   []string
	}{
		{"answer cut", sheetstest.CutAnswer, false, fence.Committed, []string{"mine"}},
		{"answer truncated", sheetstest.TruncatedAnswer, false, fence.Committed, []string{"mine"}},
		{"junk answer", sheetstest.JunkAnswer, false, fence.Committed, []string{"mine"}},
		{"past the deadline", sheetstest.HangApplied, false, fence.Committed, []string{"mine"}},
		{"never arrived", sheetstest.HangUnapplied, false, fence.Barred, nil},
		{"never arrived, then a rival", sheetstest.HangUnapplied, true, fence.Superseded, []string{"rival"}},
		{"applied, then a rival", sheetstest.CutAnswer, true, fence.Committed, []string{"mine"}},
		{"late, before the probe", sheetstest.Late, false, fence.Committed, []string{"mine"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(w world) {
				s := w.lay()
				mine := w.lost(s, "mine", tt.kind)
				if tt.rival {
					_, err := w.commit(s, "rival")
					if got, want := err == nil, tt.want == fence.Superseded; got != want {
						w.Errorf("rival committed: got %v, want %v (%v)", got, want, err)
					}
				}
				for range 2 { // Also what is settled once stays so.
					got, err := w.Settle(w.Context(), s, mine.Token)
					if err != nil || got != tt.want && !(tt.want == fence.Barred && got == fence.Superseded) {
						w.Fatalf("settle: got %v, %v, want %v", got, err, tt.want)
					}
				}
				w.server.DeliverLate()
				w.wantLog(tt.log...)
			})
		})
	}
}

func TestALateBatchDiesOfARival(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		s := w.lay()
		// The late batch must come after the rival's: it is sent again by hand when the rival is done.
		mine := s.Next()
		late := append(w.Guard(s, mine), entry("late")...)
		_, err := w.commit(s, "rival")
		w.wantErr(err, nil)
		if _, err := w.client.Batch(w.Context(), late); err == nil {
			w.Fatal("a late batch landed after its rival")
		}
		w.wantLog("rival")
	})
}

func TestABadBatchIsRefusedForGood(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		s := w.lay()
		bad := []*sheetsv4.Request{grid.Write(404, 1, 0, [][]any{{"x"}})}
		next := s.Next()
		_, err := w.Commit(w.Context(), s, next, append(entry("bad"), bad...))
		// A server that answers bad requests with 500 leaves it unknown until it is settled.
		if errors.Is(err, fence.ErrUnknown) {
			if got, _ := w.Settle(w.Context(), s, next.Token); got != fence.Barred {
				w.Fatalf("settle: got %v, want barred", got)
			}
			err = fence.ErrRefused
		}
		w.wantErr(err, fence.ErrRefused)
		w.wantLog()
		got := w.read()
		if got.Number != s.Number+1 || got.Token == next.Token {
			w.Errorf("after the probe: number %d under the refused token %v, want %d under another",
				got.Number, got.Token == next.Token, s.Number+1)
		}
		_, err = w.commit(got, "good")
		w.wantErr(err, nil)
		w.wantLog("good")
	})
}

// The probe must not be believed to have failed because a stale read does not show the marker.
func TestClassifyingUnderStaleReads(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		s := w.lay()
		_, err := w.commit(s, "rival")
		w.wantErr(err, nil)
		reads := 0
		w.server.SetFaults(func(c sheetstest.Call) sheetstest.Fault {
			if c.Write {
				return sheetstest.Fault{}
			}
			if reads++; reads <= 6 {
				return sheetstest.Fault{Stale: 1}
			}
			return sheetstest.Fault{}
		})
		_, err = w.commit(s, "mine")
		if !errors.Is(err, fence.ErrConflict) && !errors.Is(err, fence.ErrUnknown) {
			w.Fatalf("error: got %v, want a conflict", err)
		}
		w.wantLog("rival")
	})
}

func TestThrottlingIsWaitedOut(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		s := w.lay()
		until := time.Now().Add(50 * time.Second)
		w.server.SetFaults(func(sheetstest.Call) sheetstest.Fault {
			if time.Now().Before(until) {
				return sheetstest.Fault{Kind: sheetstest.TooManyRequests}
			}
			return sheetstest.Fault{}
		})
		_, err := w.commit(s, "once")
		w.wantErr(err, nil)
		w.wantLog("once")
	})
}

func TestDeniedIsNotRetried(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		s := w.lay()
		for _, kind := range []sheetstest.Kind{sheetstest.Unauthenticated, sheetstest.Forbidden} {
			w.server.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: kind})
			_, err := w.commit(s, "never")
			w.wantErr(err, fence.ErrDenied)
		}
		// After an answer that proves nothing a refused credential proves nothing either.
		w.server.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: sheetstest.CutAnswer})
		w.server.Inject(sheetstest.OpBatchUpdate, 2, sheetstest.Fault{Kind: sheetstest.Forbidden})
		if _, err := w.commit(s, "landed"); errors.Is(err, fence.ErrDenied) {
			t.Errorf("a batch that landed was called denied")
		}
		w.wantLog("landed")
	})
}

func TestRollingKeepsStaleWritersOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fence.MetadataRollingAfter(3), sheetstest.P1)
		s := w.lay()
		var stale []fence.State
		var want []string
		for i := range 12 {
			stale = append(stale, s)
			if w.Full(s) {
				next, err := w.Roll(w.Context(), s)
				w.wantErr(err, nil)
				s = next
			}
			next, err := w.commit(s, fmt.Sprintf("%02d", i))
			w.wantErr(err, nil)
			want = append(want, fmt.Sprintf("%02d", i))
			s = next
		}
		if s.Epoch < 4 {
			t.Fatalf("epoch: got %d, want at least 4", s.Epoch)
		}
		for _, old := range stale {
			batch := append(w.Guard(old, old.Next()), entry("stale")...)
			if _, err := w.client.Batch(t.Context(), batch); err == nil {
				t.Errorf("a writer of commit %d, epoch %d, landed in epoch %d", old.Number, old.Epoch, s.Epoch)
			}
		}
		w.wantLog(want...)
		var titles []string
		for _, tab := range w.server.Tabs(w.client.ID()) {
			titles = append(titles, tab.Title)
		}
		slices.Sort(titles)
		if want := []string{"Sheet1", fence.Title, fence.PrevTitle}; !slices.Equal(titles, want) {
			t.Errorf("tabs: got %q, want %q", titles, want)
		}
		_, err := w.Roll(t.Context(), stale[len(stale)-1])
		w.wantErr(err, fence.ErrConflict)
	})
}

func TestABlockAvoidsForeignIds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fence.Metadata(), sheetstest.P1)
		first, err := w.First(t.Context(), 0, 0)
		w.wantErr(err, nil)
		w.foreignMark(first.BlockStart + 7)
		second, err := w.First(t.Context(), 0, 0)
		w.wantErr(err, nil)
		if second.BlockStart <= first.BlockStart+7 {
			t.Errorf("block: got %d, want one beyond the foreign id %d", second.BlockStart, first.BlockStart+7)
		}
	})
}

func (w world) foreignMark(id int64) {
	w.Helper()
	_, err := w.client.Batch(w.Context(), []*sheetsv4.Request{{CreateDeveloperMetadata: &sheetsv4.CreateDeveloperMetadataRequest{
		DeveloperMetadata: &sheetsv4.DeveloperMetadata{
			MetadataId: id, MetadataKey: "add-on", MetadataValue: "x", Visibility: "DOCUMENT",
			Location: &sheetsv4.DeveloperMetadataLocation{Spreadsheet: true},
		},
	}}})
	w.wantErr(err, nil)
}

func TestAForeignEntryOnTheNeededId(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fence.Metadata(), sheetstest.P1)
		s := w.lay()
		w.foreignMark(fence.MarkOf(s))
		_, err := w.commit(s, "mine")
		w.wantErr(err, fence.ErrForeign)
		w.wantLog()
	})
}

func TestAForeignSheetWithTheTitle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fence.MetadataRollingAfter(1), sheetstest.P1)
		s := w.lay()
		edit(w, func(e *sheetstest.Editor) { e.AddTab(fence.PrevTitle) })
		_, err := w.Roll(t.Context(), s)
		w.wantErr(err, fence.ErrForeign)
	})
}

func edit(w world, f func(*sheetstest.Editor)) {
	w.Helper()
	if err := w.server.Edit(w.client.ID(), f); err != nil {
		w.Fatal(err)
	}
}

func TestFirstFenceIsLaidOnce(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		a, err := w.First(w.Context(), 0, 0)
		w.wantErr(err, nil)
		b, err := w.First(w.Context(), 0, 0)
		w.wantErr(err, nil)
		w.wantErr(w.Lay(w.Context(), a, nil, entry("a")), nil)
		w.wantErr(w.Lay(w.Context(), b, nil, entry("b")), fence.ErrConflict)
		w.wantLog("a")
	})
}

func TestLayingSurvivesALostAnswer(t *testing.T) {
	t.Parallel()
	for _, kind := range []sheetstest.Kind{sheetstest.CutAnswer, sheetstest.Unavailable, sheetstest.Late, sheetstest.JunkAnswer} {
		each(t, func(w world) {
			s, err := w.First(w.Context(), 0, 0)
			w.wantErr(err, nil)
			w.server.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: kind})
			w.wantErr(w.Lay(w.Context(), s, nil, entry("a")), nil)
			w.wantLog("a")
		})
	}
}

// A repaired fence is a new sheet: whoever holds a state of the old one is refused.
func TestARepairedFenceRefusesTheOldOnesWriters(t *testing.T) {
	t.Parallel()
	each(t, func(w world) {
		s := w.lay()
		old, err := w.commit(s, "before")
		w.wantErr(err, nil)
		repaired, err := w.First(w.Context(), old.Number+1000, old.Epoch+1)
		w.wantErr(err, nil)
		w.read() // Until no read is stale.
		view, err := w.client.Tabs(w.Context())
		w.wantErr(err, nil)
		w.wantErr(w.Lay(w.Context(), repaired, []int64{view.Tabs[fence.Title].ID}, nil), nil)
		if _, err := w.client.Batch(w.Context(), append(w.Guard(old, old.Next()), entry("stale")...)); err == nil {
			w.Error("a writer of the old fence landed")
		}
		_, err = w.commit(w.read(), "after")
		w.wantErr(err, nil)
		w.wantLog("after", "before")
	})
}

func TestDecodeRefusesWhatNoCommitWrote(t *testing.T) {
	t.Parallel()
	row := func(col int, v any) func(world) {
		return func(w world) {
			edit(w, func(e *sheetstest.Editor) { e.Tab(fence.Title).Set(1, col, v) })
		}
	}
	tests := []struct {
		name string
		edit func(world)
		want error
	}{
		{"number raised", row(0, 50), fence.ErrUnreadable},
		{"number is text", row(0, "one"), fence.ErrUnreadable},
		{"number blank", row(0, nil), fence.ErrUnreadable},
		{"token changed", row(1, "x"), fence.ErrUnreadable},
		{"ring blank", row(20, nil), fence.ErrUnreadable},
		{"ring is junk", row(20, "1 2 3"), fence.ErrUnreadable},
		{"of another spreadsheet", row(5, "other"), fence.ErrCopied},
		{"sheet deleted", func(w world) {
			edit(w, func(e *sheetstest.Editor) { e.Tab(fence.Title).Rename("gone") })
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, fence.Metadata(), sheetstest.P1)
				w.lay()
				tt.edit(w)
				view, err := w.client.Read(t.Context(), fence.Range())
				if tt.want == nil {
					if err == nil {
						t.Error("a range on a missing sheet was read")
					}
					return
				}
				w.wantErr(err, nil)
				_, err = w.Decode(view)
				w.wantErr(err, tt.want)
			})
		})
	}
}

func TestChecksumNoticesEdits(t *testing.T) {
	t.Parallel()
	cells := [][]any{{"a", 1.0, nil, true}, {"b", 0.0}}
	s := fence.State{Number: 7, Token: "t", Head: 2, Tail: 3, Counter: 9}.Sealed(cells)
	tests := []struct {
		name  string
		s     fence.State
		cells [][]any
		want  bool
	}{
		{"untouched", s, [][]any{{"a", 1.0, nil, true}, {"b", 0.0}}, true},
		{"value", s, [][]any{{"a", 2.0, nil, true}, {"b", 0.0}}, false},
		{"type", s, [][]any{{"a", "1", nil, true}, {"b", 0.0}}, false},
		{"moved between cells", s, [][]any{{"a", nil, 1.0, true}, {"b", 0.0}}, false},
		{"moved between rows", s, [][]any{{"a", 1.0, nil, true, "b"}, {0.0}}, false},
		{"row missing", s, cells[:1], false},
		{"head", func() fence.State { e := s; e.Head = 3; return e }(), cells, false},
		{"counter", func() fence.State { e := s; e.Counter = 8; return e }(), cells, false},
	}
	for _, tt := range tests {
		if got := tt.s.Intact(tt.cells); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
