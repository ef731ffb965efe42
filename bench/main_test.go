package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/peer"
)

// No section leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tiny is enough to see that it runs. Its time is real: calls without cost do not end in virtual time.
var tiny = scale{rounds: 1, window: load.Window{Warm: 100 * time.Microsecond, Measure: time.Millisecond}, fewer: 64}

// Every section runs, finds no wrong answer, and is in the document with its goals.
func TestDocument(t *testing.T) {
	t.Parallel()
	doc, err := document(io.Discard, "", tiny)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n## The machine\n", "\n## a. ", "\n## b. ", "\n## c. ", "\n## d. ", "\n## e. ", "\n## f. ", "\n## g. ", "\n## Goals\n",
		"1.00 ms, Zipf, 4 callers", "Bytes per idle key", "Hot entries/s to bundler", "FoldWrite to the loop by hand",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("got a document without %q", want)
		}
	}
	if strings.Contains(doc, "%!") {
		t.Error("got a document with a verb that was not filled in")
	}
}

func TestSelected(t *testing.T) {
	t.Parallel()
	if got, err := selected("d,a"); err != nil || strings.Join(got, "") != "da" {
		t.Errorf("got %q, %v, want a and d", got, err)
	}
	if _, err := selected("a,x"); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("got %v, want an error that names x", err)
	}
}

func TestProfiles(t *testing.T) { // Not parallel: there is one CPU profile at a time, and MemProfileRate is everybody's.
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	dir := t.TempDir()
	if err := profiles(dir, tiny); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"uniform.cpu.pprof", "zipf.cpu.pprof", "zipf.allocs.pprof"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("got no profile %s: %v", name, err)
		}
	}
}

// The order check finds what it looks for.
func TestOrderCheck(t *testing.T) {
	t.Parallel()
	entry := func(n int) []peer.Entry { return []peer.Entry{{Key: "k", N: n}} }
	tests := []struct {
		name string
		do   func(*orderCheck)
		want string
	}{
		{"fine", func(o *orderCheck) { o.enter("k", entry(0)); o.leave("k"); o.enter("k", entry(1)) }, ""},
		{"two at a time", func(o *orderCheck) { o.enter("k", entry(0)); o.enter("k", entry(1)) }, "two calls of k"},
		{"wrong order", func(o *orderCheck) { o.enter("k", entry(1)); o.leave("k"); o.enter("k", entry(0)) }, "after its entry 1"},
		{"twice", func(o *orderCheck) { o.enter("k", entry(1)); o.leave("k"); o.enter("k", entry(1)) }, "after its entry 1"},
		{"wrong key", func(o *orderCheck) { o.enter("j", entry(0)); o.leave("j"); o.enter("k", entry(0)) }, "for k came to j"},
		{"lost", func(o *orderCheck) { o.enter("k", entry(0)) }, "got 1 entries, want 2"},
	}
	for _, tt := range tests {
		o := &orderCheck{keys: map[string]*keyCheck{}}
		tt.do(o)
		if got := fmt.Sprint(o.finish(2)); !strings.Contains(got, tt.want) || tt.want == "" && got != "<nil>" {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Whoever comes while a batch is out shares the next one: two batches of three store calls, however many come.
func TestStoreCallsPerEntry(t *testing.T) {
	t.Parallel()
	for _, later := range []int{1, 16, 256} {
		synctest.Test(t, func(t *testing.T) {
			s := openShop(1)
			var callers sync.WaitGroup
			submit := func(id int) {
				callers.Go(func() {
					if _, err := s.submit(t.Context(), peer.Entry{Key: "k", Caller: id}); err != nil {
						t.Error(err)
					}
				})
			}
			submit(0)
			synctest.Wait()
			for id := range later {
				submit(id + 1)
			}
			callers.Wait()
			if err := s.close(); err != nil {
				t.Error(err)
			}
			if got := s.ops.Load(); got != 6 {
				t.Errorf("got %d store calls for %d entries, want 6", got, later+1)
			}
		})
	}
}

// Two processes that read the same record at the same time cannot both write what they made of it.
func TestConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openShop(2)
		var callers sync.WaitGroup
		for id := range 2 {
			callers.Go(func() {
				if _, err := s.submit(t.Context(), peer.Entry{Key: "k", Caller: id}); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if err := s.close(); err != nil {
			t.Error(err)
		}
		if s.conflicts.Load() == 0 || s.retries.Load() == 0 {
			t.Errorf("got %d conflicts and %d retries, want some", s.conflicts.Load(), s.retries.Load())
		}
	})
}

// By hand and with goferry the answers are the same.
func TestPipelinesAgree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, ins := &noop{}, []booking{{1, 10}, {2, 5}, {1, 10}}
	outs, err := foldWrite.Provide(s).Call(ctx, "k", ins)
	_, byHand, errByHand := foldByHand(s, ctx, "k", ins)
	if want := "[10 15 15] <nil>"; fmt.Sprint(outs, err) != want || fmt.Sprint(byHand, errByHand) != want {
		t.Errorf("got %v %v and by hand %v %v, want %s", outs, err, byHand, errByHand, want)
	}
	outcomes, err := projectedWrite.Provide(s).Call(ctx, "k", ins)
	outcomesByHand, errByHand := projectByHand(s, ctx, "k", ins)
	if err != nil || errByHand != nil {
		t.Fatalf("got %v and by hand %v", err, errByHand)
	}
	for i, out := range outcomes {
		if out.Result != outcomesByHand[i].result || out.Err != nil || outcomesByHand[i].err != nil {
			t.Errorf("got %+v and by hand %+v", out, outcomesByHand[i])
		}
	}
}

func BenchmarkPipelines(b *testing.B) {
	for _, p := range pairs() {
		for _, n := range batchSizes {
			both, stop := p.micros(n)
			for _, m := range both {
				b.Run(fmt.Sprintf("%s/batch %d/%s", p.name, n, m.name), m.bench)
			}
			stop()
		}
	}
}

func BenchmarkSchedules(b *testing.B) {
	for _, failures := range []int{0, retries} {
		all, stop := retriers(failures)
		for _, m := range all {
			b.Run(fmt.Sprintf("%d retries/%s", failures, m.name), m.bench)
		}
		stop()
	}
}

func (m micro) bench(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		m.op()
	}
}
