package sheetstest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

// TestKinds runs one write under every kind of fault: what the client sees,
// and whether the write was applied.
func TestKinds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind    sheetstest.Kind
		sees    string
		applied bool
	}{
		{sheetstest.None, "200", true},
		{sheetstest.TooManyRequests, "429", false},
		{sheetstest.Internal, "500", false},
		{sheetstest.Unavailable, "503", false},
		{sheetstest.BadGateway, "502 html", false},
		{sheetstest.Unauthenticated, "401", false},
		{sheetstest.Forbidden, "403", false},
		{sheetstest.Late, "503", false},
		{sheetstest.CutAnswer, "cut", true},
		{sheetstest.TruncatedAnswer, "other", true},
		{sheetstest.JunkAnswer, "other", true},
		{sheetstest.HangUnapplied, "deadline", false},
		{sheetstest.HangApplied, "deadline", true},
	}
	for _, test := range tests {
		t.Run(string(test.kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, sheetstest.Options{})
				r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: test.kind})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := r.batch(ctx, put(0, 0, 0, "x"))
				if got := seen(err); got != test.sees {
					t.Errorf("got %s (%v), want %s", got, err, test.sees)
				}
				if got := len(r.Rows(r.id, "Sheet1")) == 1; got != test.applied {
					t.Errorf("got applied %t, want %t", got, test.applied)
				}
			})
		})
	}
}

// seen sorts an error by what a client can do about it.
func seen(err error) string {
	if e, ok := errors.AsType[*googleapi.Error](err); ok && len(e.Body) > 0 && e.Body[0] == '<' {
		return fmt.Sprint(e.Code, " html")
	}
	switch {
	case code(err) != 0:
		return fmt.Sprint(code(err))
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut"
	}
	return "other"
}

// TestFaultsOnReads: a read under a fault changes nothing, and a late one is
// just unavailable.
func TestFaultsOnReads(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	for _, kind := range []sheetstest.Kind{sheetstest.Late, sheetstest.CutAnswer, sheetstest.Internal} {
		r.Inject(sheetstest.OpGet, 1, sheetstest.Fault{Kind: kind})
		if _, err := r.client.Spreadsheets.Get(r.id).Do(); err == nil {
			t.Errorf("kind %s: got no error, want one", kind)
		}
	}
	if n := r.DeliverLate(); n != 0 {
		t.Errorf("got %d late reads, want none", n)
	}
}

func TestInjectCountsFromNow(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.must(t, put(0, 0, 0, "x"))
	r.Inject(sheetstest.OpBatchUpdate, 2, sheetstest.Fault{Kind: sheetstest.Internal})
	var got []int
	for range 3 {
		_, err := r.batch(t.Context(), put(0, 0, 0, "x"))
		got = append(got, code(err))
	}
	if want := "[200 500 200]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestFaultsFunction decides by the call and yields to an injected fault.
func TestFaultsFunction(t *testing.T) {
	t.Parallel()
	var calls []string
	r := newRig(t, sheetstest.Options{Faults: func(c sheetstest.Call) sheetstest.Fault {
		calls = append(calls, fmt.Sprintf("%s %d %s %t %t", c.Op, c.N, c.SpreadsheetID, c.Write, len(c.Body) > 0))
		if c.Write {
			return sheetstest.Fault{Kind: sheetstest.Forbidden}
		}
		return sheetstest.Fault{}
	}})
	r.Inject(sheetstest.OpBatchUpdate, 2, sheetstest.Fault{})
	_, first := r.batch(t.Context(), put(0, 0, 0, "x"))
	_, second := r.batch(t.Context(), put(0, 0, 0, "y"))
	got := read(t, r, "Sheet1!A1")
	if code(first) != 403 || second != nil || got != "[[y]]" {
		t.Errorf("got %v, %v, %s, want 403, no error, [[y]]", first, second, got)
	}
	want := "[spreadsheets.batchUpdate 1 spreadsheet-1 true true spreadsheets.values.get 1 spreadsheet-1 false false]"
	if fmt.Sprint(calls) != want {
		t.Errorf("got  %v\nwant %s", calls, want)
	}
	r.SetFaults(nil)
	r.must(t, put(0, 0, 0, "z"))
}

// TestLateWritesLandInOrder: before the next write of the same spreadsheet,
// and of no other.
func TestLateWritesLandInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	other := r.Create("Other")
	late := func(requests ...*sheets.Request) {
		r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: sheetstest.Late})
		if _, err := r.batch(t.Context(), requests...); code(err) != 503 {
			t.Fatalf("got %v, want 503", err)
		}
	}
	late(put(0, 0, 0, "first"))
	late(put(0, 0, 0, "second", "second"))
	mine := r.id
	r.id = other
	r.must(t, put(0, 0, 0, "x"))
	if got := show(r.Rows(mine, "Sheet1")); got != "[]" {
		t.Errorf("another spreadsheet's write delivered: got %s, want []", got)
	}
	r.id = mine
	r.must(t, put(0, 0, 0, "next"))
	if got, want := show(r.Rows(r.id, "Sheet1")), "[[next second]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	late(put(0, 1, 0, "on demand"))
	late(put(9, 0, 0, "refused"))
	late() // Does not even decode.
	if n := r.DeliverLate(); n != 1 {
		t.Errorf("got %d delivered, want 1", n)
	}
	if got, want := show(r.Rows(r.id, "Sheet1")), "[[next second] [on demand]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLateWriteLosesToItsFence: of a late batch and its resend at most one
// takes effect.
func TestLateWriteLosesToItsFence(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: sheetstest.Late})
	_, first := r.batch(t.Context(), mark(0, 5, "token"), put(0, 0, 0, "x"))
	_, again := r.batch(t.Context(), mark(0, 5, "token"), put(0, 0, 0, "x"))
	if code(first) != 503 || code(again) != 400 {
		t.Errorf("got %v and %v, want 503 and 400", first, again)
	}
	if got := show(r.Rows(r.id, "Sheet1")); got != "[[x]]" {
		t.Errorf("got %s, want [[x]]", got)
	}
}

func TestLateCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.Inject(sheetstest.OpCreate, 1, sheetstest.Fault{Kind: sheetstest.Late})
	if _, err := r.client.Spreadsheets.Create(&sheets.Spreadsheet{}).Do(); code(err) != 503 {
		t.Fatalf("got %v, want 503", err)
	}
	if n := r.DeliverLate(); n != 1 || r.Tabs("spreadsheet-2") == nil {
		t.Errorf("got %d delivered, want the spreadsheet created", n)
	}
}

func TestStaleReads(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	for i := range 5 {
		r.must(t, put(0, 0, 0, i))
	}
	got := ""
	for back := range 7 {
		r.Inject(sheetstest.OpValuesGet, 1, sheetstest.Fault{Stale: back})
		got += read(t, r, "Sheet1!A1")
	}
	if want := "[[4]][[3]][[2]][[1]][[0]][][]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestBefore edits between a client's read and its write.
func TestBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Before: func() {
		err := r.Edit(r.id, func(e *sheetstest.Editor) { e.Tab("Sheet1").InsertRows(0, 1) })
		if err != nil {
			t.Error(err)
		}
	}})
	r.must(t, put(0, 0, 0, "x"))
	r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Before: func() { r.must(t, put(0, 1, 0, "inner")) }})
	r.must(t, put(0, 1, 1, "outer"))
	if got, want := show(r.Rows(r.id, "Sheet1")), "[[x] [inner outer]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sheetstest.Options{})
		r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Delay: time.Hour})
		start := time.Now()
		r.must(t, put(0, 0, 0, "x"))
		if got := time.Since(start); got != time.Hour {
			t.Errorf("got %v, want 1h", got)
		}
		r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Delay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := r.batch(ctx, put(0, 0, 0, "y"))
		if got := r.Rows(r.id, "Sheet1")[0][0]; !errors.Is(err, context.DeadlineExceeded) || got != "x" {
			t.Errorf("got %v and %v, want a deadline before the write", err, got)
		}
	})
}

// TestAppendsLoseRows: two appends that are under way at once take the same
// row.
func TestAppendsLoseRows(t *testing.T) {
	t.Parallel()
	ways := map[string]func(context.Context, *rig, string) error{
		"values.append": func(ctx context.Context, r *rig, text string) error {
			_, err := r.client.Spreadsheets.Values.Append(r.id, "Sheet1!A1", &sheets.ValueRange{Values: [][]any{{text}}}).
				ValueInputOption("RAW").Context(ctx).Do()
			return err
		},
		"appendCells": func(ctx context.Context, r *rig, text string) error {
			_, err := r.batch(ctx, appendRows(row(text)))
			return err
		},
	}
	for name, push := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, sheetstest.Options{Faults: func(c sheetstest.Call) sheetstest.Fault {
					return sheetstest.Fault{Delay: time.Duration(c.N) * time.Second}
				}})
				var wait sync.WaitGroup
				for i := range 2 {
					wait.Go(func() {
						if err := push(t.Context(), r, fmt.Sprint(i)); err != nil {
							t.Error(err)
						}
					})
				}
				wait.Wait()
				if got := len(r.Rows(r.id, "Sheet1")); got != 1 {
					t.Errorf("got %d rows, want 1: the second overwrites the first", got)
				}
				if err := push(t.Context(), r, "after"); err != nil {
					t.Error(err)
				}
				if got := len(r.Rows(r.id, "Sheet1")); got != 2 {
					t.Errorf("got %d rows, want 2: a later one goes below", got)
				}
			})
		})
	}
}

func TestAppendsInOneBatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.must(t, put(0, 0, 0, "x"), appendRows(row("a"), row("b")), appendRows(row("c")))
	if got, want := show(r.Rows(r.id, "Sheet1")), "[[x] [a] [b] [c]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAppendToAStaleEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	r.must(t, put(0, 0, 0, "x"))
	r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Stale: 1})
	r.must(t, appendRows(row("y")), appendRows(row("z")))
	if got, want := show(r.Rows(r.id, "Sheet1")), "[[y] [z]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAppendAsTyped: USER_ENTERED reads text as a person's typing.
func TestAppendAsTyped(t *testing.T) {
	t.Parallel()
	tests := []struct{ option, want string }{
		{"RAW", `[007 =1+1 true 'x 1e3 NaN plain <nil> 5]`},
		{"USER_ENTERED", `[7 =1+1 true x 1000 NaN plain <nil> 5]`},
	}
	for _, test := range tests {
		t.Run(test.option, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, sheetstest.Options{})
			row := []any{"007", "=1+1", "true", "'x", "1e3", "NaN", "plain", nil, 5}
			res, err := r.client.Spreadsheets.Values.Append(r.id, "Sheet1!A1", &sheets.ValueRange{Values: [][]any{row}}).
				ValueInputOption(test.option).Do()
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(r.Rows(r.id, "Sheet1")[0]); got != test.want || res.Updates.UpdatedRange != "Sheet1!A1:I1" {
				t.Errorf("got %s at %s, want %s at A1:I1", got, res.Updates.UpdatedRange, test.want)
			}
		})
	}
}

// TestQuota spends an hour: in every minute 60 writes are done and the next is
// refused; reads have a quota of their own.
func TestQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sheetstest.Options{Quota: true})
		got := map[int]int{}
		for range 60 {
			for range 61 {
				_, err := r.batch(t.Context(), put(0, 0, 0, "x"))
				got[code(err)]++
			}
			time.Sleep(time.Minute)
		}
		if got[200] != 3600 || got[429] != 60 {
			t.Errorf("got %v, want 3600 writes done and 60 refused", got)
		}
		for range 60 {
			read(t, r, "Sheet1!A1")
		}
		if _, err := r.client.Spreadsheets.Get(r.id).Do(); code(err) != 429 {
			t.Errorf("got %v, want the 61st read refused", err)
		}
	})
}

// TestOneOfManyWins: of many concurrent batches under one metadata id exactly
// one is applied.
func TestOneOfManyWins(t *testing.T) {
	t.Parallel()
	r := newRig(t, sheetstest.Options{})
	won := make([]bool, 32)
	var wait sync.WaitGroup
	for i := range won {
		wait.Go(func() {
			_, err := r.batch(t.Context(), put(0, int64(i), 0, "x"), mark(0, 5, fmt.Sprint(i)))
			won[i] = err == nil
		})
	}
	wait.Wait()
	for i, won := range won {
		rows := r.Rows(r.id, "Sheet1")
		if wrote := i < len(rows) && len(rows[i]) > 0; wrote != won {
			t.Errorf("batch %d: got row written %t, want %t", i, wrote, won)
		}
	}
	if n := len(r.Metadata(r.id)); n != 1 {
		t.Errorf("got %d entries, want 1", n)
	}
}
