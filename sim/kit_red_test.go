package sim_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// mustGoRed runs one part of a test of the kit as another process, with a variable in its environment. It must fail, and
// name the law.
func mustGoRed(t *testing.T, test, part, law, variable string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+test+"$/^"+part+"$")
	cmd.Env = append(os.Environ(), variable)
	out, err := cmd.CombinedOutput()
	switch said := string(out); {
	case strings.Contains(said, "this machine cannot"):
		t.Logf("not tried:\n%s", said)
	case err == nil || !strings.Contains(said, "--- FAIL: "+test+"/"+part) || !strings.Contains(said, "law \""+law+"\" broken"):
		t.Errorf("got %v, want %s to name the law %q:\n%s", err, part, law, said)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
