// Bench measures goferry side by side with other ways to do the same, and writes what it found to docs/benchmarks.md.
//
// What is compared runs in turns within seconds, several rounds each, and every figure that is judged is a ratio of the
// same round: absolute figures are the machine's, ratios are the code's.
//
//	go run .                 everything, in about five minutes
//	go run . -only a,d       some sections
//	go run . -quick          all of it, too short to judge by
//	go run . -profile DIR    profiles of the hot path instead
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/report"
)

// where is found from the module's directory, in which `go run .` runs.
const where = "../docs/benchmarks.md"

// section is one part of the document, with the letter that selects it.
type section struct {
	letter string
	run    func(*report.Report, scale) error
}

var sections = []section{
	{"m", machine},
	{"a", throughput},
	{"b", footprint},
	{"c", fairness},
	{"d", pipelines},
	{"e", endToEnd},
	{"f", processes},
	{"g", schedules},
	{"h", sight},
}

// scale is how much of everything is run.
type scale struct {
	rounds int
	window load.Window
	fewer  int // callers and keys are divided by this
}

var (
	full  = scale{rounds: 3, window: load.Window{Warm: 60 * time.Millisecond, Measure: 200 * time.Millisecond}, fewer: 1}
	quick = scale{rounds: 1, window: load.Window{Warm: 10 * time.Millisecond, Measure: 40 * time.Millisecond}, fewer: 4}
)

func (s scale) some(n int) int { return max(n/s.fewer, 1) }

// longer answers the scale with windows n times as long.
func (s scale) longer(n time.Duration) scale {
	s.window.Warm *= n
	s.window.Measure *= n
	return s
}

func main() {
	log.SetFlags(0)
	only := flag.String("only", "", "letters of the sections to run, such as a,d; empty is all of them")
	isQuick := flag.Bool("quick", false, "few short rounds, to see that everything runs; the figures mean little")
	write := flag.Bool("write", true, "write "+where+" if all sections were run at full length")
	profile := flag.String("profile", "", "write CPU and allocation profiles of the hot path to this directory, and run nothing else")
	flag.Parse()
	s := full
	if *isQuick {
		s = quick
	}
	if *profile != "" {
		if err := profiles(*profile, s); err != nil {
			log.Fatal(err)
		}
		return
	}
	keep := *write && *only == "" && !*isQuick
	if _, err := os.Stat(filepath.Dir(where)); keep && err != nil {
		log.Fatal(err) // Now rather than in five minutes.
	}
	doc, err := document(os.Stdout, *only, s)
	if err != nil {
		log.Fatal(err)
	}
	if !keep {
		return
	}
	if err := os.WriteFile(where, []byte(doc), 0o644); err != nil {
		log.Fatal(err)
	}
}

// selected answers the letters of the sections to run.
func selected(only string) (letters []string, err error) {
	for _, section := range sections {
		letters = append(letters, section.letter)
	}
	if only == "" {
		return letters, nil
	}
	chosen := strings.Split(only, ",")
	for _, letter := range chosen {
		if !slices.Contains(letters, letter) {
			return nil, fmt.Errorf("-only: no section is %q, want some of %s", letter, strings.Join(letters, ","))
		}
	}
	return chosen, nil
}

// document runs sections and answers the document of them.
func document(show io.Writer, only string, s scale) (string, error) {
	letters, err := selected(only)
	if err != nil {
		return "", err
	}
	r := &report.Report{Show: show}
	begun := time.Now()
	for _, section := range sections {
		if !slices.Contains(letters, section.letter) {
			continue
		}
		if err := section.run(r, s); err != nil {
			return "", fmt.Errorf("section %s: %w", section.letter, err)
		}
	}
	fmt.Fprintln(show, r.Goals())
	return r.Document(head(time.Since(begun))), nil
}
