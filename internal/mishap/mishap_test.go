package mishap_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goferry/goferry/internal/mishap"
)

// child makes the test binary a process that appends to a file, syncs it, and counts, until it is killed or that fails.
const child = "GOFERRY_MISHAP_CHILD"

func TestMain(m *testing.M) {
	if path, ok := os.LookupEnv(child); ok {
		if err := count(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func count(path string) error {
	file, err := os.Create(path)
	for n := 0; err == nil; n++ {
		if _, err = fmt.Fprintln(file, n); err == nil {
			err = file.Sync()
		}
		if err == nil {
			fmt.Printf("said nothing\nwrote %d\n", n)
		}
	}
	return err
}

// patience is a limit for what takes milliseconds.
const patience = 20 * time.Second

func start(t *testing.T, path string) *mishap.Process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"="+path)
	p, err := mishap.Start(cmd, "wrote ")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	if err := p.Await(10, patience); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestKill(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "file"))
	lines := p.Kill()
	for n, line := range lines {
		if line != fmt.Sprint(n) {
			t.Errorf("line %d: got %q", n, line)
		}
	}
	if !slices.Equal(p.Kill(), lines) || len(lines) < 10 {
		t.Errorf("got %d lines, want at least 10, and the same when it is killed again", len(lines))
	}
	if err := p.Await(1, patience); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("await after its end: got %v, want how it ended", err)
	}
}

func TestAwaitSaysWhatWasWrong(t *testing.T) {
	t.Parallel()
	p, err := mishap.Start(exec.Command("sh", "-c", "echo no such file >&2; exit 3"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if err := p.Await(1, patience); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v, want its status and its complaint", err)
	}
}

// TestPowerCut: what was synced is there, and what was not is lost.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	disk, err := mishap.NewDisk(t.TempDir())
	if errors.Is(err, mishap.ErrUnable) {
		t.Logf("not tried: %v", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disk.Unmount(); err != nil {
			t.Error(err)
		}
	})
	unsynced := filepath.Join(disk.Dir, "unsynced")
	if err := os.WriteFile(unsynced, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(disk.Dir, "file")
	p := start(t, path)
	synced := p.Printed()
	late := filepath.Join(disk.Dir, "late")
	if err := os.WriteFile(late, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := disk.Cut(); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if err := errors.Join(disk.Unmount(), disk.Mount()); err != nil {
		t.Fatal(err)
	}
	held, err := os.ReadFile(path)
	if got := strings.Count(string(held), "\n"); got < synced || err != nil {
		t.Errorf("got %d lines, %v, want at least the %d that were synced", got, err, synced)
	}
	if held, err := os.ReadFile(late); len(held) > 0 {
		t.Errorf("got %q, %v of a file that was not synced, want it lost", held, err)
	}
}

func TestSyncs(t *testing.T) {
	t.Parallel()
	for _, harm := range []mishap.Harm{mishap.Slow, mishap.Fail} {
		p := start(t, filepath.Join(t.TempDir(), "file"))
		syncs, err := p.HarmSyncs(harm, filepath.Join(t.TempDir(), "log"))
		if errors.Is(err, mishap.ErrUnable) {
			t.Logf("not tried: %v", err)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		err = p.Await(10, patience)
		if failed := err != nil && strings.Contains(err.Error(), "input/output error"); failed != (harm == mishap.Fail) {
			t.Errorf("%s: the process: got %v", harm, err)
		}
		p.Kill()
		if n, err := syncs.Count(); n == 0 || err != nil {
			t.Errorf("%s: harmed syncs: got %d, %v, want some", harm, n, err)
		}
	}
}
