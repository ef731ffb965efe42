package fold_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// fold is embedded by libraries: it brings nothing along but the standard library and schedule.
func TestImports(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"github.com/goferry/goferry/schedule", "github.com/goferry/goferry/fold"}
	if got := strings.Fields(string(out)); !slices.Equal(got, want) {
		t.Errorf("got dependencies %q, want %q", got, want)
	}
}
