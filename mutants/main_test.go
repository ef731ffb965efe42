package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func all(t *testing.T) []mutant {
	t.Helper()
	mutants, err := load(".", regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	return mutants
}

// Every mutant applies to the code as it is.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	mutants := all(t)
	if len(mutants) < 50 {
		t.Errorf("got %d mutants: some are missing", len(mutants))
	}
	for _, m := range mutants {
		if _, err := m.overlay("..", t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// The documentation lists them all.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/verification.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), table(all(t))) {
		t.Error("docs/verification.md does not have the table that go run ./mutants -table prints")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	good := "what: rule\nsays: law\ntest: ./x -run Y\n@@ a.go\n-old\n+new\n"
	m, err := parse("m", good)
	if err != nil || m.edits[0] != (edit{"a.go", "old\n", "new\n"}) || len(m.test) != 3 {
		t.Errorf("got %+v, %v", m, err)
	}
	for _, bad := range []string{
		"", "what: rule\nsays: law\ntest: x\n", "nobody: x\n" + good, good + "neither\n", strings.Replace(good, "says: law\n", "", 1),
	} {
		if _, err := parse("m", bad); err == nil {
			t.Errorf("%q was parsed", bad)
		}
	}
}

// A mutant that no longer applies is an error, not a pass.
func TestStaleMutant(t *testing.T) {
	t.Parallel()
	for _, old := range []string{"not in the file\n", "}\n"} {
		m := mutant{edits: []edit{{"mutants/main.go", old, ""}}}
		if _, err := m.overlay("..", t.TempDir()); err == nil || !strings.Contains(err.Error(), "no longer applies") {
			t.Errorf("%q: got %v", old, err)
		}
	}
}
