// Package demotest is the tests that all examples pass.
package demotest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goferry/goferry/examples/internal/demo"
	"github.com/goferry/goferry/examples/internal/ledger"
)

// Build is what an example gives to [demo.Main].
type Build = func(context.Context, demo.Options) (demo.Parts, error)

// beTheExample makes the test binary run the example with its arguments instead of the tests.
const beTheExample = "GOFERRY_EXAMPLE"

// Main is the TestMain of an example.
func Main(m *testing.M, broken string, build Build) {
	if os.Getenv(beTheExample) != "" {
		demo.Main(broken, build)
	}
	os.Exit(m.Run())
}

// run runs an example in a bubble, where its seconds are over at once.
func run(t *testing.T, broken string, build Build, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		code = demo.Run(t.Context(), args, strings.NewReader(stdin), &out, &errs, broken, build)
	})
	return code, out.String(), errs.String()
}

func wantMatches(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(text) {
			t.Errorf("no match of %q in:\n%s", p, text)
		}
	}
}

// Outage checks that entries come back committed while the view is down, and in the end every view equals its log.
func Outage(t *testing.T, broken string, build Build) {
	code, stdout, stderr := run(t, broken, build, "", "-entries", "3000", "-clients", "32", "-keys", "8", "-outage", "2s")
	if code != 0 {
		t.Errorf("got exit code %d:\n%s", code, stderr)
	}
	wantMatches(t, stdout, `^projected +[1-9]`, `^committed +[1-9]`, `^failed +\d`, `^replayed +[1-9]`, `^batches +[1-9]`,
		`^retries +[1-9]`, `^sweeps +[1-9]`, `^p50, p99 +\S+s, \S+s`, `^ok: \d+ accounts, each view equal to its log; 3000 entries, each once$`)
	wantMatches(t, stderr, broken+" is down for 2s$", broken+" is back$", `s  projected \d+, committed \d+, `)
}

// WrongView checks that a view which differs from its log is found, and the program says so.
func WrongView(t *testing.T, broken string, build Build) {
	wrong := func(ctx context.Context, o demo.Options) (demo.Parts, error) {
		parts, err := build(ctx, o)
		check := parts.Check
		parts.Check = func(ctx context.Context, account string, log ledger.Log) error {
			log.Entries = log.Entries[1:]
			return check(ctx, account, log)
		}
		return parts, err
	}
	code, stdout, stderr := run(t, broken, wrong, "", "-entries", "100")
	if code != 1 || strings.Contains(stdout, "ok:") {
		t.Errorf("got exit code %d, want 1:\n%s", code, stdout)
	}
	wantMatches(t, stderr, `^FAILED: account account-\d+: `)
}

// Input checks that entries are read as JSON lines, that a bad line is told by its number, and that the others are written.
func Input(t *testing.T, broken string, build Build) {
	stdin := `{"id":"1","account":"a","cents":5}
{"id":"2","account":"b","cents":"secret"}

{"id":"3","account":"a"
{"id":"","account":"a"}
{"id":"5"}
{"id":"6","account":"a","cents":-5}`
	code, stdout, stderr := run(t, broken, build, stdin, "-input", "-")
	if code != 2 {
		t.Errorf("got exit code %d, want 2:\n%s", code, stderr)
	}
	wantMatches(t, stdout, `^ok: 1 accounts, each view equal to its log; 2 entries, each once$`)
	wantMatches(t, stderr, `^line 2: the field cents cannot be a string$`, `^line 4: not JSON from its byte \d+ on$`,
		`^line 5: the field id is missing or empty$`, `^line 6: the field account is missing or empty$`, `^4 lines were left out$`)
	if strings.Contains(stderr, "secret") {
		t.Errorf("a line is quoted:\n%s", stderr)
	}
}

// BadOptions checks that what cannot be used is told and that nothing is run.
func BadOptions(t *testing.T, broken string, build Build) {
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-clients", "0"}, 2, "must be positive"},
		{[]string{"-outage", "-1s"}, 2, "nothing else negative"},
		{[]string{"-frobnicate"}, 2, "not defined"},
		{[]string{"left", "over"}, 2, "left"},
		{[]string{"-input", "no/such/file"}, 2, "no such file"},
		{[]string{"-store", "floppy"}, 1, "want memory or sqlite:FILE"},
	}
	for _, tt := range tests {
		code, stdout, stderr := run(t, broken, build, "", tt.args...)
		if code != tt.code || !strings.Contains(stderr, tt.want) || stdout != "" {
			t.Errorf("%q: got exit code %d, %q and %q, want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.want)
		}
	}
}

// Killed checks that a process which is killed in the outage leaves records that the next one finishes.
func Killed(t *testing.T) {
	args := []string{"-store", "sqlite:" + filepath.Join(t.TempDir(), "ledger"), "-entries", "1500", "-think", "1ms", "-outage", "300ms"}
	first := example(t, args)
	stderr, err := first.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "is down") {
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stderr)
	if err := first.Wait(); err == nil {
		t.Fatal("the first process ended before it was killed")
	}
	out, err := example(t, args).CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	wantMatches(t, string(out), fmt.Sprintf(`^ok: \d+ accounts, each view equal to its log; %d entries, each once$`, 1500))
}

func example(t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), beTheExample+"=1")
	return cmd
}
