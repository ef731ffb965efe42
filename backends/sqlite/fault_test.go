package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/sqlite"
)

func isStopped(err error) bool { return errors.Is(err, sqlite.ErrStopped) }

// TestProcesses has two processes and two handles of this one on one file that none of them finds there.
func TestProcesses(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	const others, handles, each = 2, 2, 4 * 10
	var all sync.WaitGroup
	for p := range others {
		cmd := child(t, "increment", path, fmt.Sprint("process", p, "-"))
		all.Go(func() {
			if got := output(t, cmd); got[0] != fmt.Sprint(each) {
				t.Errorf("process %d acknowledged: got %v, want %d", p, got, each)
			}
		})
	}
	for h := range handles {
		db := open(t, path, sqlite.Config{})
		all.Go(func() {
			got, err := storetest.Increment(t.Context(), kinds[2].Of(db), "shared", fmt.Sprint("handle", h, "-"), 4, 10)
			if got != each || err != nil {
				t.Errorf("handle %d acknowledged: got %d, %v, want %d", h, got, err, each)
			}
		})
	}
	all.Wait()
	s := kinds[2].Of(open(t, path, sqlite.Config{}))
	record, err := s.Read(t.Context(), "shared")
	if got, want := len(record.Body.Entries), (others+handles)*each; got != want || err != nil {
		t.Errorf("entries: got %d, %v, want %d", got, err, want)
	}
	if shown, err := s.Shown(t.Context(), "shared"); len(shown) != len(record.Body.Entries) || record.Behind || err != nil {
		t.Errorf("rows: got %d, %v, behind %v, want %d", len(shown), err, record.Behind, len(record.Body.Entries))
	}
}

// TestDiskFull has a process whose files may not grow: a COMMIT fails in the middle, and what it was about is unknown.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	lines := output(t, child(t, "full disk", path))
	acked := len(lines) - 2
	want := []string{fmt.Sprintf("failed %d outcome-unknown false", acked), fmt.Sprintf("failed %d refused true", acked+1)}
	if got := lines[acked:]; acked == 0 || got[0] != want[0] || got[1] != want[1] {
		t.Fatalf("got %v, want %v", lines, want)
	}
	s := kinds[0].Of(open(t, path, sqlite.Config{}))
	for n := range acked {
		if record, err := s.Read(t.Context(), fmt.Sprint("k", n)); len(record.Body.Entries) != 1 || err != nil {
			t.Errorf("k%d was acknowledged: got %v, %v", n, record.Fence, err)
		}
	}
	if record, err := s.Read(t.Context(), fmt.Sprint("k", acked+1)); record.Fence != 0 || err != nil {
		t.Errorf("k%d was refused: got fence %d, %v", acked+1, record.Fence, err)
	}
	if _, err := s.Commit(t.Context(), "after", storetest.Record{}, storetest.Record{}); err != nil {
		t.Errorf("a commit after opening again: %v", err)
	}
}

// TestReadOnlyFile has a process that may read the file, and what lies beside it, and write none of it.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	body := storetest.Log{Entries: []storetest.Entry{{ID: "a"}}}
	if _, err := kinds[0].Of(open(t, path, sqlite.Config{})).Commit(t.Context(), "k", storetest.Record{}, storetest.Record{Body: body}); err != nil {
		t.Fatal(err)
	}
	chmod(t, filepath.Dir(filepath.Dir(path)), 0o755)
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		chmod(t, name, 0o444)
	}
	want := []string{"read: 1 <nil>", "commit: refused"}
	if got := output(t, child(t, "read only", path)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
