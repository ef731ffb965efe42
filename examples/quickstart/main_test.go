package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func Example() {
	main()
	// Output: projected 0 <nil>
}

// The README shows this program, to the letter, without its imports.
func TestREADMEShowsTheProgram(t *testing.T) {
	t.Parallel()
	source := read(t, "main.go")
	_, program, _ := strings.Cut(source, ")\n\n")
	if !strings.Contains(read(t, "../../README.md"), "```go\n"+program+"```\n") {
		t.Error("the README does not show main.go from its first type on")
	}
}

// Every make command that the README names is one of the Makefile's.
func TestREADMECommands(t *testing.T) {
	t.Parallel()
	makefile := read(t, "../../Makefile")
	named := regexp.MustCompile("`make ([a-z]+)`").FindAllStringSubmatch(read(t, "../../README.md"), -1)
	var targets []string
	for _, m := range named {
		targets = append(targets, m[1])
		if !strings.Contains(makefile, "\n"+m[1]+":") {
			t.Errorf("the README names make %s, which is no target", m[1])
		}
	}
	for _, want := range []string{"demo", "test"} {
		if !slices.Contains(targets, want) {
			t.Errorf("the README does not name make %s", want)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
