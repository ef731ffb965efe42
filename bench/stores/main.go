// Stores measures goferry's stores side by side, checks every entry that it wrote, and writes what it found to
// docs/benchmarks-stores.md.
//
// The cells of an engine run in turns, and what is judged of their speed is a ratio of the same round: absolute figures are the machine's.
// What is counted holds on any machine: the program fails if a count is wrong, an entry was lost or doubled, or an engine is
// not to be had, and never for a figure of speed.
//
//	go run .                      everything, in about two minutes
//	go run . -only sqlite,etcd    some of memory, sqlite, postgres and etcd
//	go run . -quick               all of it, too short to judge speed by
//	go run . -dir /mnt/disk       on this disk: one in memory syncs for nothing
//	go run . -json                figures and goals on standard output, tables on standard error
//
// PostgreSQL is a private server from the programs of the system, etcd a cluster in this process.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goferry/goferry/bench/internal/report"
)

// where is found from the module's directory, in which `go run .` runs.
const where = "../../docs/benchmarks-stores.md"

// scale is how long everything is run.
type scale struct {
	rounds int
	window window
}

var (
	full  = scale{rounds: 2, window: window{warm: 200 * time.Millisecond, measure: time.Second}}
	quick = scale{rounds: 1, window: window{warm: 20 * time.Millisecond, measure: 100 * time.Millisecond}}
)

func main() {
	log.SetFlags(0)
	only := flag.String("only", "", "engines to measure, such as sqlite,etcd; empty is all of them")
	isQuick := flag.Bool("quick", false, "one short round, to see that everything runs and counts; the speeds mean little")
	asJSON := flag.Bool("json", false, "write figures and goals to standard output as JSON, and the tables to standard error")
	write := flag.Bool("write", true, "write "+where+" if all engines were measured at full length")
	dir := flag.String("dir", os.TempDir(), "where the engines keep their data; its disk is measured with them")
	flag.Parse()
	chosen, err := selected(*only)
	if err != nil {
		log.Fatal(err)
	}
	s := full
	if *isQuick {
		s = quick
	}
	keep := *write && *only == "" && !*isQuick
	if _, err := os.Stat(filepath.Dir(where)); keep && err != nil {
		log.Fatal(err) // Now rather than in two minutes.
	}
	show := os.Stdout
	if *asJSON {
		show = os.Stderr
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	doc, all, failed := document(ctx, show, *dir, chosen, s)
	if *asJSON {
		failed = errors.Join(failed, json.NewEncoder(os.Stdout).Encode(all))
	}
	if keep && len(all) == len(chosen) {
		failed = errors.Join(failed, os.WriteFile(where, []byte(doc), 0o644))
	}
	if failed != nil {
		log.Fatal(failed)
	}
}

// selected answers the engines of these names.
func selected(only string) (chosen []engine, err error) {
	if only == "" {
		return engines, nil
	}
	for name := range strings.SplitSeq(only, ",") {
		at := slices.IndexFunc(engines, func(e engine) bool { return e.name == name })
		if at < 0 {
			return nil, fmt.Errorf("-only: no engine is %q", name)
		}
		chosen = append(chosen, engines[at])
	}
	return chosen, nil
}

// document measures engines, and answers the document of those that could be measured. The error says what was not, and
// which counts are wrong.
func document(ctx context.Context, show io.Writer, dir string, chosen []engine, s scale) (doc string, all []measured, failed error) {
	begun := time.Now()
	head, err := head(dir)
	if err != nil {
		return "", nil, err
	}
	r := &report.Report{Show: show}
	for _, e := range chosen {
		m, err := e.measure(ctx, show, dir, s)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", e.name, err))
			continue
		}
		m.Goals = e.aims.judge(m)
		all = append(all, m)
		m.tell(r)
		failed = errors.Join(failed, m.wrong())
	}
	compare(r, all)
	fmt.Fprintln(show, r.Goals())
	return r.Document(fmt.Sprintf(head, time.Since(begun).Round(time.Second))), all, failed
}

// measure starts the engine, lets its cells take turns, and ends it.
func (e engine) measure(ctx context.Context, show io.Writer, parent string, s scale) (m measured, err error) {
	dir, err := os.MkdirTemp(parent, "stores") // The path of a socket in it must be short.
	if err != nil {
		return measured{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	running, err := e.start(ctx, dir)
	if err != nil {
		return measured{}, err
	}
	defer func() { err = errors.Join(err, running.close()) }()
	defer fmt.Fprintln(show)
	m = measured{Engine: e.name, title: e.title, Cells: map[string][]figures{}}
	for round := range s.rounds {
		fmt.Fprintf(show, "%s, round %d of %d:", e.title, round+1, s.rounds)
		for _, c := range turns(round) {
			t := running.of(c)
			if t.store == nil {
				continue
			}
			fmt.Fprintf(show, " %s,", c.name)
			f, err := c.measure(ctx, fmt.Sprintf("%s/%d", c.name, round), t, s.window)
			if err != nil {
				return measured{}, fmt.Errorf("%s: %w", c.name, err)
			}
			m.Cells[c.name] = append(m.Cells[c.name], f)
		}
		fmt.Fprintln(show, " done")
	}
	return m, nil
}

// turns is the order of a round. Cells that are compared stand beside each other, and who begins changes.
func turns(round int) []cell {
	order := slices.Clone(cells)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// of answers the store that a cell writes to.
func (s *server) of(c cell) target {
	if c.ungrouped {
		return s.ungrouped
	}
	return s.grouped
}
