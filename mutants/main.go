// Mutants switches the rules of this repository off, one at a time, and requires that a test goes red for each.
//
//	go run ./mutants             all of them
//	go run ./mutants -run REGEXP those whose name matches
//	go run ./mutants -v          with the output of the tests
//	go run ./mutants -table      the table for docs/verification.md
//
// A mutant is a file of this folder, NAME.mut: lines of the form "key: value" and then its edits.
//
//	what: the rule that is switched off
//	test: ./sim -run TestGate        arguments of go test, in the folder of dir
//	says: truth                      what the output must contain: the oracle, or the test, that speaks
//	dir: backends/sheets             the module, if it is not the root
//	@@ fold/fold.go                  an edit of this file, relative to the root
//	-	old lines
//	+	new lines
//
// The old lines must stand in the file exactly once: a mutant that no longer applies is an error, and so is one that
// does not compile. The files are replaced with go test -overlay, so that the tree stays as it is.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// mutant is one file.
type mutant struct {
	name, what, dir, says string
	test                  []string
	edits                 []edit
}

type edit struct{ file, old, new string }

func main() {
	only := flag.String("run", "", "only mutants whose name matches this `regexp`")
	verbose := flag.Bool("v", false, "print the output of the tests")
	parallel := flag.Int("p", 2, "how many at once")
	list := flag.Bool("table", false, "print the table of the documentation, and kill nobody")
	flag.Parse()
	if err := run(*only, *verbose, *list, *parallel); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(only string, verbose, list bool, parallel int) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	mutants, err := load(filepath.Join(root, "mutants"), pattern)
	if err != nil {
		return err
	}
	if list {
		fmt.Print(table(mutants))
		return nil
	}
	began := time.Now()
	killed := 0
	var (
		all errgroup.Group
		mu  sync.Mutex
	)
	all.SetLimit(parallel)
	for _, m := range mutants {
		all.Go(func() error {
			start := time.Now()
			out, err := m.kill(root)
			mu.Lock()
			defer mu.Unlock()
			verdict := "killed"
			if err != nil {
				verdict = "ALIVE: " + err.Error()
			} else {
				killed++
			}
			fmt.Printf("%-34s %5.1fs  %s\n", m.name, time.Since(start).Seconds(), verdict)
			if verbose || err != nil {
				fmt.Println(out)
			}
			return nil
		})
	}
	_ = all.Wait() // Those that live are counted, not an error of their own.
	fmt.Printf("mutants: %d listed, %d killed (%.0fs)\n", len(mutants), killed, time.Since(began).Seconds())
	if killed < len(mutants) || len(mutants) == 0 {
		return errors.New("a rule was switched off and no test said so")
	}
	return nil
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/goferry/goferry").Output()
	return strings.TrimSpace(string(out)), err
}

func load(dir string, pattern *regexp.Regexp) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.mut"))
	if err != nil {
		return nil, err
	}
	var mutants []mutant
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".mut")
		if !pattern.MatchString(name) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parse(name, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s.mut: %w", name, err)
		}
		mutants = append(mutants, m)
	}
	return mutants, nil
}

// table is Markdown: what each mutant switches off, and what speaks.
func table(mutants []mutant) string {
	var b strings.Builder
	b.WriteString("| mutant | the rule that is switched off | what says so |\n| --- | --- | --- |\n")
	for _, m := range mutants {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.name, m.what, m.says)
	}
	return b.String()
}

func parse(name, text string) (mutant, error) {
	m := mutant{name: name}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if file, ok := strings.CutPrefix(line, "@@ "); ok {
			m.edits = append(m.edits, edit{file: file})
			continue
		}
		if n := len(m.edits); n > 0 {
			e := &m.edits[n-1]
			switch {
			case strings.HasPrefix(line, "-"):
				e.old += line[1:] + "\n"
			case strings.HasPrefix(line, "+"):
				e.new += line[1:] + "\n"
			default:
				return m, fmt.Errorf("neither - nor +: %q", line)
			}
			continue
		}
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "what":
			m.what = value
		case "says":
			m.says = value
		case "dir":
			m.dir = value
		case "test":
			m.test = strings.Fields(value)
		default:
			return m, fmt.Errorf("unknown key in %q", line)
		}
	}
	if m.what == "" || m.says == "" || len(m.test) == 0 || len(m.edits) == 0 {
		return m, errors.New("what, says, test or the edits are missing")
	}
	return m, nil
}

// kill runs the tests with the rule switched off. Its error says why the mutant is not killed.
func (m mutant) kill(root string) (output string, err error) {
	temp, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	overlay, err := m.overlay(root, temp)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	args := append([]string{"test", "-overlay", overlay, "-count=1", "-timeout=60s"}, m.test...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(root, m.dir)
	cmd.Env = append(os.Environ(), "GOWORK=off", "RAPID_NOFAILFILE=1")
	out, err := cmd.CombinedOutput()
	output = string(out)
	switch {
	case err == nil:
		return output, errors.New("the tests pass")
	case strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]"):
		return output, errors.New("it does not compile")
	case !strings.Contains(output, m.says):
		return output, fmt.Errorf("the tests fail, but do not say %q", m.says)
	}
	return output, nil
}

// overlay writes the changed files and the map of them that the go command reads.
func (m mutant) overlay(root, temp string) (string, error) {
	texts := map[string]string{}
	for _, e := range m.edits {
		path := filepath.Join(root, e.file)
		text, ok := texts[path]
		if !ok {
			read, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			text = string(read)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return "", fmt.Errorf("it no longer applies: its old lines stand %d times in %s", n, e.file)
		}
		texts[path] = strings.Replace(text, e.old, e.new, 1)
	}
	replace := map[string]string{}
	for path, text := range texts {
		replaced := filepath.Join(temp, fmt.Sprint(len(replace), "_", filepath.Base(path)))
		if err := os.WriteFile(replaced, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[path] = replaced
	}
	file := filepath.Join(temp, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return file, os.WriteFile(file, text, 0o600)
}
