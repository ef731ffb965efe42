package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/memory"
)

// everything has the servers too, which take some seconds to start, and counts syncs with strace.
var everything = flag.Bool("stores.all", false, "measure PostgreSQL and etcd too, and count syncs with strace")

// tiny is enough for counts: every writer writes at least once.
var tiny = scale{rounds: 2, window: window{measure: 30 * time.Millisecond}, cells: cells}

func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-write=false") { // The program itself, under strace.
		main()
		return
	}
	// The nodes of etcd leave idle connections between them to net/http.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
		goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// Every cell runs on every engine, loses and doubles nothing, and does no more than it says: statements, transactions, and
// writes, each of them once.
func TestCounts(t *testing.T) {
	t.Parallel()
	chosen, err := selected("memory,sqlite")
	if *everything {
		chosen, err = selected("")
		t.Run("syncs", countSyncs)
		t.Run("slow disks", slowDisks)
		t.Run("cuts", underAFewCuts)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range chosen {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			m, err := e.measure(t.Context(), io.Discard, os.TempDir(), tiny)
			if err != nil {
				t.Fatal(err)
			}
			m.Goals = e.aims.judge(m)
			if err := m.wrong(); err != nil {
				t.Error(err)
			}
			for _, c := range cells {
				if rounds := len(m.Cells[c.name]); rounds != tiny.rounds && !c.ungrouped && !c.hand {
					t.Errorf("%s: got %d rounds, want %d", c.name, rounds, tiny.rounds)
				}
				for _, f := range m.Cells[c.name] {
					wantCounts(t, e, c, f)
				}
			}
		})
	}
}

func wantCounts(t *testing.T, e engine, c cell, f figures) {
	t.Helper()
	if least := int64(c.writers * c.batch); f.Entries < least {
		t.Errorf("%s: got %d entries, want at least %d", c.name, f.Entries, least)
	}
	if c.hand {
		return // Nobody counts the rest.
	}
	if landed := f.Commits - f.Refused; !c.lanes && landed != f.Entries/int64(c.batch) {
		t.Errorf("%s: got %d commits for %d entries, want %d", c.name, landed, f.Entries, f.Entries/int64(c.batch))
	}
	if (!c.hot || c.lanes) && f.Refused != 0 {
		t.Errorf("%s: got %d commits refused, want none without a rival", c.name, f.Refused)
	}
	if asked := uint64(f.Commits + f.Projections); e.name != "memory" && f.Work.Operations != asked {
		t.Errorf("%s: got %d writes done, want the %d that were asked for", c.name, f.Work.Operations, asked)
	}
	if c.ungrouped && f.Work.Transactions != f.Work.Operations {
		t.Errorf("%s: got %d transactions for %d writes, want one each", c.name, f.Work.Transactions, f.Work.Operations)
	}
}

// countSyncs sees from outside that a transaction of SQLite is one sync.
func countSyncs(t *testing.T) {
	t.Parallel()
	for cell, most := range map[string]float64{"seq1": 1.1, "64 keys": 0.15} {
		got, err := syncs(t.Context(), t.TempDir(), "sqlite", cell)
		if err != nil || got > most {
			t.Errorf("%s: got %v syncs for each commit, %v, want at most %v", cell, got, err, most)
		}
	}
}

// slowDisks sees that the writes of many keys share syncs, by what slow ones cost.
func slowDisks(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres", "etcd1"} {
		if got, err := onSlowDisk(t.Context(), os.TempDir(), engine); err != nil || got <= 1 {
			t.Errorf("%s: got %vx for 64 writers, %v, want more than for one", engine, got, err)
		}
	}
}

// underAFewCuts loses and doubles nothing.
func underAFewCuts(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		if e.remote == nil {
			continue
		}
		slowest, f, err := underCuts(t.Context(), os.TempDir(), e.remote, quick.cuts)
		if err != nil || slowest == 0 || f.Entries == 0 || f.Lost > 0 || f.Doubled > 0 {
			t.Errorf("%s: got %v and %+v, %v, want entries, none of them lost or doubled", e.name, slowest, f, err)
		}
	}
}

// Broken stores: what they lose and double is found.

// dropping acknowledges one commit in three, the first among them, and forgets it.
type dropping struct {
	inMemory
	n int
}

func (d *dropping) Commit(ctx context.Context, key string, read, next record) (record, error) {
	if d.n++; d.n%3 == 1 {
		return next, nil
	}
	return d.inMemory.Commit(ctx, key, read, next)
}

// doubling does not know how one commit in three ended, the first among them, though it landed, and forgets which entries it has.
type doubling struct {
	inMemory
	n int
}

func (d *doubling) Read(ctx context.Context, key string) (record, error) {
	r, err := d.inMemory.Read(ctx, key)
	r.Body.Recent = nil
	return r, err
}

func (d *doubling) Commit(ctx context.Context, key string, read, next record) (record, error) {
	stored, err := d.inMemory.Commit(ctx, key, read, next)
	if d.n++; d.n%3 == 1 {
		err = &backends.Error{Op: "commit", Key: key, Class: backends.ErrUnknown}
	}
	return stored, err
}

// rowless clears the marker and writes no row.
type rowless struct{ inMemory }

func (r rowless) ProjectRows(ctx context.Context, key string, read record) (map[id]error, error) {
	return nil, r.Clear(ctx, key, read)
}

// twofold has every row twice.
type twofold struct{ inMemory }

func (s twofold) Rows(ctx context.Context, key string) ([]entry, error) {
	rows, err := s.inMemory.Rows(ctx, key)
	return append(rows, rows...), err
}

func TestBrokenStoresAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		broken        func(inMemory) store
		cells         []string
		lost, doubled bool
	}{
		{"whole", func(m inMemory) store { return m }, []string{"seq1", "seq64", "proj64", "hot8"}, false, false},
		{"dropping", func(m inMemory) store { return &dropping{inMemory: m} }, []string{"seq1", "seq64", "hot8 lanes"}, true, false},
		{"doubling", func(m inMemory) store { return &doubling{inMemory: m} }, []string{"seq1", "seq64", "hot8 lanes"}, false, true},
		{"rowless", func(m inMemory) store { return rowless{m} }, []string{"proj1", "proj64"}, true, false},
		{"twofold", func(m inMemory) store { return twofold{m} }, []string{"proj1", "proj64"}, false, true},
	}
	for _, tt := range tests {
		for _, name := range tt.cells {
			c := cells[slices.IndexFunc(cells, func(c cell) bool { return c.name == name })]
			s := tt.broken(inMemory{memory.NewRows[string](body.lines, entry.ident)})
			f, err := c.measure(t.Context(), name, target{store: s}, window{measure: 5 * time.Millisecond})
			if err != nil || f.Lost > 0 != tt.lost || f.Doubled > 0 != tt.doubled {
				t.Errorf("%s, %s: got %d lost and %d doubled of %d, %v, want some: %v and %v", tt.name, name, f.Lost, f.Doubled, f.Entries, err, tt.lost, tt.doubled)
			}
		}
	}
}

// The record keeps the books of its writers.
func TestAdd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		ids           []id
		lost, doubled uint32
		changes       int
	}{
		{"in order", []id{idOf(0, 0), idOf(1, 0), idOf(0, 1)}, 0, 0, 3},
		{"a replay", []id{idOf(0, 0), idOf(0, 1), idOf(0, 0)}, 0, 0, 2},
		{"a gap", []id{idOf(0, 0), idOf(0, 3)}, 2, 0, 2},
		{"an old one", append(numbered(200), idOf(0, 0)), 0, 1, 201},
	}
	for _, tt := range tests {
		var b body
		changes := 0
		for _, i := range tt.ids {
			next, out, changed := add(b, entry{ID: i})
			if out != i {
				t.Errorf("%s: got the answer %d to %d", tt.name, out, i)
			}
			if changed {
				b = next
				changes++
			}
		}
		if b.Lost != tt.lost || b.Doubled != tt.doubled || changes != tt.changes {
			t.Errorf("%s: got %d lost, %d doubled and %d changes, want %d, %d and %d", tt.name, b.Lost, b.Doubled, changes, tt.lost, tt.doubled, tt.changes)
		}
		if len(b.Recent) > recent {
			t.Errorf("%s: got %d recent identities, want at most %d", tt.name, len(b.Recent), recent)
		}
	}
}

func numbered(n uint32) (ids []id) {
	for i := range n {
		ids = append(ids, idOf(0, i))
	}
	return ids
}

func TestCodecs(t *testing.T) {
	t.Parallel()
	var b body
	for _, i := range numbered(200) {
		b, _, _ = add(b, entry{ID: i, Text: [entrySize - 8]byte{byte(i)}})
	}
	b.Last, b.Lost, b.Doubled = b.Last[:64], 1, 2
	stored, err := bodies.Encode(b)
	if err != nil || len(stored) != booksSize+1024+6400 {
		t.Errorf("got %d bytes, %v, want the books, 1 KiB and 100 bytes for each of 64 entries", len(stored), err)
	}
	if got, err := bodies.Decode(stored); err != nil || fmt.Sprint(got) != fmt.Sprint(b) {
		t.Errorf("got %v, %v back, want %v", got, err, b)
	}
	row, err := rows.Encode(b.Last[1])
	if got, decodeErr := rows.Decode(row); err != nil || decodeErr != nil || got != b.Last[1] {
		t.Errorf("got %v, %v, %v back, want %v", got, err, decodeErr, b.Last[1])
	}
	for _, cut := range []int{0, booksSize - 1, booksSize + 7, len(stored) - 1} {
		if _, err := bodies.Decode(stored[:cut]); !errors.Is(err, errSize) {
			t.Errorf("got %v for %d bytes of a body, want %v", err, cut, errSize)
		}
	}
	if _, err := rows.Decode(row[1:]); !errors.Is(err, errSize) {
		t.Errorf("got %v for a cut row, want %v", err, errSize)
	}
}

// An engine that is not to be had is an error, and the others are measured.
func TestDocument(t *testing.T) {
	t.Parallel()
	missing := engine{name: "missing", title: "Missing", start: func(context.Context, string) (*server, error) { return nil, io.ErrUnexpectedEOF }}
	brief := scale{rounds: 1, window: window{measure: time.Millisecond}, cells: cells}
	doc, all, err := document(t.Context(), io.Discard, t.TempDir(), []engine{missing, engines[0]}, brief)
	if fmt.Sprint(err) != "missing: unexpected EOF" || len(all) != 1 {
		t.Errorf("got %d engines and %v, want one and the other's error", len(all), err)
	}
	for _, want := range []string{"# Benchmarks of the stores\n", "\n## Acceptance\n", "| doubled ", "**Memory**", "| hot8 lanes", "**Side by side**"} {
		if !strings.Contains(doc, want) {
			t.Errorf("got a document without %q:\n%s", want, doc)
		}
	}
	if strings.Contains(doc, "%!") {
		t.Error("got a document with a verb that was not filled in")
	}
}

// The tests that the document names are there.
func TestDecided(t *testing.T) {
	t.Parallel()
	folders := map[string][]string{"sqlite": {"sqlite"}, "postgres": {"postgres"}, "etcd": {"etcd", "etcd/etcdtest", "etcd/examples/fleet"}}
	sources := map[string]string{}
	for engine, all := range folders {
		for _, folder := range all {
			files, err := filepath.Glob("../../backends/" + folder + "/*_test.go")
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: got %v, %v, want tests", folder, files, err)
			}
			for _, file := range files {
				source, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				sources[engine] += string(source)
			}
		}
	}
	name := regexp.MustCompile(`Test\w+`)
	for _, row := range tests {
		for engine, by := range row.by {
			for _, test := range name.FindAllString(by, -1) {
				if !strings.Contains(sources[engine], "\nfunc "+test+"(") {
					t.Errorf("%s: %s has no %s", row.what, engine, test)
				}
			}
		}
	}
}

func TestSelected(t *testing.T) {
	t.Parallel()
	if got, err := selected("etcd,sqlite"); err != nil || len(got) != 2 || got[0].name != "etcd" {
		t.Errorf("got %v, %v, want etcd and sqlite", got, err)
	}
	if _, err := selected("sqlite,bolt"); err == nil || !strings.Contains(err.Error(), `"bolt"`) {
		t.Errorf("got %v, want an error that names bolt", err)
	}
}

// What is judged is the median of the rounds, and a count that is missed is a failure.
func TestJudge(t *testing.T) {
	t.Parallel()
	m := measured{Engine: "e", Cells: map[string][]figures{
		"seq1":    {{PerSecond: 10, Commits: 5, Work: work{Operations: 5, Transactions: 6, Statements: 5}}, {PerSecond: 20, Commits: 5}},
		"seq64":   {{PerSecond: 500, Commits: 5, Lost: 1}, {PerSecond: 600, Commits: 5}},
		"64 keys": {{PerSecond: 1, Commits: 1}},
		"proj64":  {{PerSecond: 1, Commits: 1, Projections: 1, Work: work{Operations: 2, Transactions: 2}}},
	}}
	if got := m.ratio("seq64", "seq1"); got != 30 {
		t.Errorf("got the ratio %v, want 30: the lower of two", got)
	}
	m.Goals = aims{batch: 31, seq1: 10, shared: 0.15}.judge(m)
	met := map[string]bool{}
	for _, g := range m.Goals {
		met[g.What] = g.Met
	}
	if met["seq64 to seq1"] || !met["entries/s, seq1"] {
		t.Errorf("got the goals %+v, want the ratio missed and the rate met", m.Goals)
	}
	if got, want := fmt.Sprint(m.wrong()), "e: lost: got 1, want at most 0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m.Cells["seq1"][0].Work.Transactions = 11
	m.Goals = aims{shared: 0.15}.judge(m)
	if got := fmt.Sprint(m.wrong()); !strings.Contains(got, "transactions per commit, seq1") {
		t.Errorf("got %q, want the transactions named", got)
	}
}
