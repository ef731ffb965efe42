// Stores measures goferry's stores side by side, checks every entry that it wrote, and writes what it found to
// docs/benchmarks-stores.md.
//
// The cells of an engine run in turns, and what is judged of their speed is a ratio of the same round: absolute figures are the machine's.
// What is counted holds on any machine: the program fails if a count is wrong, an entry was lost or doubled, or an engine is
// not to be had, and never for a figure of speed.
//
//	go run .                      everything, in about three minutes
//	go run . -only sqlite,etcd    some of memory, sqlite, postgres and etcd, or etcd1, of one node
//	go run . -cells seq1,proj64   some of the cells, and nothing else
//	go run . -quick               all of it, too short to judge speed by
//	go run . -dir /mnt/disk       on this disk: one in memory syncs for nothing
//	go run . -json                figures and goals on standard output, tables on standard error
//
// PostgreSQL is a private server from the programs of the system, etcd a cluster in this process. What a slow disk costs, and how many
// syncs there are, is seen where there is strace.
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

// scale is what is run, and how long.
type scale struct {
	rounds int
	window window
	cells  []cell
	cuts   int // of connections; 0 leaves out what is no cell
}

var (
	full  = scale{rounds: 3, window: window{warm: 150 * time.Millisecond, measure: 700 * time.Millisecond}, cells: cells, cuts: 100}
	quick = scale{rounds: 1, window: window{warm: 20 * time.Millisecond, measure: 100 * time.Millisecond}, cells: cells, cuts: 10}
)

func main() {
	log.SetFlags(0)
	only := flag.String("only", "", "engines to measure, such as sqlite,etcd; empty is all of them")
	some := flag.String("cells", "", "cells to run, such as seq1,proj64, and nothing else; empty is everything")
	isQuick := flag.Bool("quick", false, "one short round of the cells, to see that everything runs and counts; the speeds mean little")
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
	if *some != "" {
		s.cuts = 0
		if s.cells, err = cellsOf(*some); err != nil {
			log.Fatal(err)
		}
	}
	keep := *write && *only == "" && *some == "" && !*isQuick
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
func selected(only string) ([]engine, error) {
	if only == "" {
		return engines, nil
	}
	return named("-only", only, append(slices.Clip(engines), oneNode), func(e engine) string { return e.name })
}

func cellsOf(names string) ([]cell, error) {
	return named("-cells", names, cells, func(c cell) string { return c.name })
}

// named answers those of all that a flag names.
func named[T any](flag, names string, all []T, name func(T) string) (chosen []T, err error) {
	for wanted := range strings.SplitSeq(names, ",") {
		at := slices.IndexFunc(all, func(one T) bool { return name(one) == wanted })
		if at < 0 {
			return nil, fmt.Errorf("%s: there is no %q", flag, wanted)
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// document measures engines, and answers the document of those that could be measured. The error says what was not, and
// which counts are wrong.
func document(ctx context.Context, show io.Writer, dir string, chosen []engine, s scale) (doc string, all []measured, failed error) {
	begun := time.Now()
	head, err := head(dir, s.cuts)
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
		if s.cuts > 0 {
			failed = errors.Join(failed, e.disturb(ctx, show, dir, s, &m))
		}
		m.Goals = e.aims.judge(m)
		all = append(all, m)
		m.tell(r)
		failed = errors.Join(failed, m.wrong())
	}
	compare(r, all)
	accepted := acceptance(all)
	fmt.Fprintln(show, accepted)
	return fmt.Sprintf(head, time.Since(begun).Round(time.Second)) + accepted + "\n" + r.Body(), all, failed
}

// measure starts the engine, lets its cells take turns, and ends it.
func (e engine) measure(ctx context.Context, show io.Writer, parent string, s scale) (m measured, err error) {
	dir, remove, err := folder(parent)
	if err != nil {
		return measured{}, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	running, err := e.start(ctx, dir)
	if err != nil {
		return measured{}, err
	}
	defer func() { err = errors.Join(err, running.close()) }()
	defer fmt.Fprintln(show)
	m = measured{Engine: e.name, title: e.title, Cells: map[string][]figures{}, Others: map[string]other{}}
	for round := range s.rounds {
		fmt.Fprintf(show, "%s, round %d of %d:", e.title, round+1, s.rounds)
		for _, c := range s.turns(round) {
			t := running.of(c)
			if t.store == nil || c.hand && t.hand == nil {
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

// disturb measures what is no cell: a slow disk, syncs, and connections that are cut. What cannot be seen on this machine is said in its
// place.
func (e engine) disturb(ctx context.Context, show io.Writer, dir string, s scale, m *measured) error {
	note := func(what string, got float64, err error) {
		o := other{Got: got}
		if err != nil {
			o.Skipped, _, _ = strings.Cut(err.Error(), "\n")
		}
		m.Others[what] = o
	}
	fmt.Fprintf(show, "%s, disturbed:", e.title)
	defer fmt.Fprintln(show, " done")
	if e.traced != "" {
		fmt.Fprint(show, " a slow disk,")
		got, err := onSlowDisk(ctx, dir, e.traced)
		note(slowRatio, got, err)
	}
	if e.aims.syncs > 0 {
		fmt.Fprint(show, " syncs,")
		got, err := syncs(ctx, dir, e.traced, "seq1")
		note(syncsAlone, got, err)
		got, err = syncs(ctx, dir, e.traced, "64 keys")
		note(syncsShared, got, err)
	}
	if e.remote == nil {
		return nil
	}
	fmt.Fprint(show, " cuts,")
	slowest, f, err := underCuts(ctx, dir, e.remote, s.cuts)
	if err != nil {
		return fmt.Errorf("%s: cuts: %w", e.name, err)
	}
	note(slowestInput, slowest.Seconds(), nil)
	m.Cells["cuts"] = []figures{f}
	return nil
}

// folder makes one for an engine. Its path is short, for the sake of a socket in it, and PostgreSQL, which does not run as root, gets
// through.
func folder(parent string) (dir string, remove func() error, err error) {
	if dir, err = os.MkdirTemp(parent, "stores"); err != nil {
		return "", nil, err
	}
	return dir, func() error { return os.RemoveAll(dir) }, os.Chmod(dir, 0o711)
}

// turns is the order of a round. Cells that are compared stand beside each other, and who begins changes.
func (s scale) turns(round int) []cell {
	order := slices.Clone(s.cells)
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
