package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	driver "modernc.org/sqlite"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/storetest"
	"github.com/goferry/goferry/backends/sqlite"
)

// childMode makes the test binary another process of a test: the value is the name of its part.
const childMode = "GOFERRY_SQLITE_CHILD"

// children are the parts that other processes play. Their first argument is the file.
var children = map[string]func(ctx context.Context, args []string) error{
	"increment":   childIncrement,
	"full disk":   childFullDisk,
	"read only":   childReadOnly,
	"write views": writeForever(newViews, writeViews),
	"write rows":  writeForever(newLogRows, writeRows),
}

func TestMain(m *testing.M) {
	if part, ok := os.LookupEnv(childMode); ok {
		if err := children[part](context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	driver.RegisterConnectionHook(weaken) // Before any connection.
	goleak.VerifyTestMain(m)
}

// child is the test binary as another process.
func child(t *testing.T, part string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), childMode+"="+part)
	return cmd
}

// output runs a child to its end and answers the lines that it printed.
func output(t *testing.T, cmd *exec.Cmd) []string {
	t.Helper()
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child: %v\n%s%s", err, out, complaints.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// childIncrement opens a file that others open at the same moment, and adds to a log that others add to.
func childIncrement(ctx context.Context, args []string) error {
	db, err := sqlite.Open(ctx, args[0], sqlite.Config{})
	if err != nil {
		return err
	}
	n, err := storetest.Increment(ctx, kinds[2].Of(db), "shared", args[1], 4, 10)
	if err != nil {
		return err
	}
	fmt.Println(n)
	return db.Close()
}

// childFullDisk may not make a file larger than a limit, and writes until that fails. It prints what was
// acknowledged, the class of the failure, and that of the write after it.
func childFullDisk(ctx context.Context, args []string) error {
	db, err := sqlite.Open(ctx, args[0], sqlite.Config{})
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := uint64(300_000)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	s := kinds[0].Of(db)
	for n, failures := 0, 0; failures < 2; n++ {
		next := storetest.Record{Body: storetest.Log{Entries: []storetest.Entry{{ID: strings.Repeat("x", 1000), N: n}}}, Behind: true}
		if _, err := s.Commit(ctx, fmt.Sprint("k", n), storetest.Record{}, next); err != nil {
			failures++
			fmt.Println("failed", n, className(err), isStopped(err))
			continue
		}
		fmt.Println("acked", n)
	}
	if _, err := s.Read(ctx, "k0"); err != nil {
		return fmt.Errorf("reading after the failure: %w", err)
	}
	return db.Close()
}

// childReadOnly is not allowed to write to the file, and tries. Root may do anything, so it becomes nobody.
func childReadOnly(ctx context.Context, args []string) error {
	if os.Getuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	db, err := sqlite.Open(ctx, args[0], sqlite.Config{})
	if err != nil {
		fmt.Println("open:", errors.Unwrap(err))
		return nil
	}
	s := kinds[0].Of(db)
	record, err := s.Read(ctx, "k")
	fmt.Println("read:", len(record.Body.Entries), err)
	_, err = s.Commit(ctx, "k", record, record)
	fmt.Println("commit:", className(err))
	return db.Close()
}

func className(err error) string {
	for _, class := range []error{backends.ErrConflict, backends.ErrRefused, backends.ErrUnknown} {
		if e, ok := err.(*backends.Error); ok && e.Class == class {
			return strings.ReplaceAll(strings.Split(class.Error(), ":")[0], " ", "-")
		}
	}
	return fmt.Sprint(err)
}
