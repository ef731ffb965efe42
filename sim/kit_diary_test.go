//go:build unix

package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
	"github.com/goferry/goferry/sim"
)

// Diary is a store in a folder, of one file per day, for any number of processes. What is wrong with it is for the tests
// of the kit.
type Diary struct {
	Dir string
	// Hasty acknowledges before the disk has it, Careless before it is written, and Torn writes log and view one by one.
	Hasty, Careless, Torn bool
}

// Day is a record, with its view.
type Day struct {
	Version int
	Behind  bool
	Lines   []string
	Shown   []string
}

func (d Day) Pending() bool { return d.Behind }
func (d Day) Log() []string { return d.Lines }

// Blot is a failure of a diary: nothing was written, unless it is unsure.
type Blot struct {
	error
	unsure bool
}

func (b Blot) NotWritten() bool { return !b.unsure }

var errRival = errors.New("somebody else has written here")

func (d Diary) path(day string) string { return filepath.Join(d.Dir, "day-"+url.QueryEscape(day)) }

func (d Diary) Read(_ context.Context, day string) (record Day, err error) {
	content, err := os.ReadFile(d.path(day))
	if errors.Is(err, os.ErrNotExist) {
		return Day{}, nil
	}
	return record, errors.Join(err, json.Unmarshal(content, &record))
}

func (d Diary) Commit(ctx context.Context, day string, read, next Day) (Day, error) {
	next.Behind = true
	return next, d.replace(ctx, day, read, &next)
}

func (d Diary) Project(ctx context.Context, day string, read Day) error {
	next := read
	next.Behind, next.Shown = false, read.Lines
	return d.replace(ctx, day, read, &next)
}

// replace compares and writes while no other process does.
func (d Diary) replace(ctx context.Context, day string, read Day, next *Day) error {
	lock, err := os.OpenFile(filepath.Join(d.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return Blot{err, false}
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return Blot{err, false}
	}
	held, err := d.Read(ctx, day)
	switch {
	case err != nil:
		return Blot{err, false}
	case ctx.Err() != nil:
		return Blot{ctx.Err(), true}
	case held.Version != read.Version:
		return Blot{errRival, false}
	}
	next.Version++
	if d.Careless && next.Version%5 == 0 {
		return nil
	}
	if d.Torn && len(next.Lines)-len(held.Lines) > 1 {
		half := *next
		half.Version, half.Lines = half.Version-1, half.Lines[:len(half.Lines)-1]
		if err := d.write(day, half); err != nil {
			return Blot{err, true}
		}
		time.Sleep(time.Millisecond) // Most kills are to come now.
	}
	if err := d.write(day, *next); err != nil {
		return Blot{err, true}
	}
	return nil
}

// write replaces the file of a day.
func (d Diary) write(day string, record Day) error {
	content, err := json.Marshal(record)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(d.Dir, "new-")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if !d.Hasty {
		err = errors.Join(err, file.Sync())
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), d.path(day))
	}
	if err == nil && !d.Hasty {
		err = d.sync()
	}
	return err
}

// sync makes the renamed file stay renamed.
func (d Diary) sync() error {
	dir, err := os.Open(d.Dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (d Diary) Shown(ctx context.Context, day string) ([]string, error) {
	record, err := d.Read(ctx, day)
	return record.Shown, err
}

func (d Diary) Days(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		files, err := filepath.Glob(filepath.Join(d.Dir, "day-*"))
		if err != nil {
			yield("", err)
			return
		}
		for _, file := range files {
			day, err := url.QueryUnescape(strings.TrimPrefix(filepath.Base(file), "day-"))
			if err != nil {
				yield("", err)
				return
			}
			record, err := d.Read(ctx, day)
			if (record.Behind || err != nil) && !yield(day, err) {
				return
			}
		}
	}
}

func jot(d Day, line string) (Day, int, bool) {
	if at := slices.Index(d.Lines, line); at >= 0 {
		return d, at, false
	}
	d.Lines = append(slices.Clip(d.Lines), line)
	return d, len(d.Lines) - 1, true
}

var keepDiary = projected.WholeRecord(
	fold.New[Blot](func(line string) string { return line }, Diary.Read, jot, Diary.Commit, schedule.Recurs(20)),
	Day.Pending, Diary.Project)

func nthDay(n int) string            { return fmt.Sprint("day ", n) }
func nthLine(_ string, n int) string { return fmt.Sprint("line ", n) }
func blot() Blot                     { return Blot{error: errRival} }

// keeps is the environment variable that makes the test binary another process, which keeps the diary that it names, and
// spoiled the one by which the diaries of TestDiary are.
const keeps, spoiled = "GOFERRY_SIM_KEEPS", "GOFERRY_SIM_SPOILED"

func init() {
	beChild = func() (isChild bool, err error) {
		what, isChild := os.LookupEnv(keeps)
		if !isChild {
			return false, nil
		}
		var d Diary
		if err := json.Unmarshal([]byte(what), &d); err != nil {
			return true, err
		}
		return true, sim.WriteForever(keepDiary, d, nthDay, nthLine)
	}
}

// TestDiary gives the kit all that it takes to test a store in a folder.
func TestDiary(t *testing.T) {
	t.Parallel()
	in := func(_ *testing.T, dir string) Diary {
		d := Diary{Dir: dir}
		if rules := os.Getenv(spoiled); rules != "" {
			must(t, json.Unmarshal([]byte(rules), &d))
		}
		return d
	}
	same := func(_ *testing.T, d Diary) Diary { return d }
	sim.TestStore(t, keepDiary, func(t *testing.T) Diary { return in(t, t.TempDir()) },
		blot, nthDay, nthLine, Day.Log, Diary.Shown, Diary.Days,
		sim.WithHistories(100), sim.WithReopen(same), sim.WithSecondHandle(same),
		sim.WithChild(func(t *testing.T, dir string) *exec.Cmd {
			what, err := json.Marshal(in(t, dir))
			must(t, err)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), keeps+"="+string(what))
			return cmd
		}, in),
		sim.WithPowerCuts(), sim.WithSyncFaults())
}

// TestSpoiledDiaries runs parts of TestDiary in another process, on diaries of which something is wrong. They must go red.
func TestSpoiledDiaries(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, rules, part, law string }{
		{"acknowledges what is not written", `{"Careless":true}`, "killed_processes", "what was answered is there after reopening"},
		{"writes one entry after the other", `{"Torn":true}`, "killed_processes", "a write happens as a whole or not at all"},
		{"never syncs, and the power is cut", `{"Hasty":true}`, "power_cuts", "what was answered is there after reopening"},
		{"never syncs, and strace counts", `{"Hasty":true}`, "slow_syncs", "what was answered is there after reopening"},
		{"never syncs, and syncs fail", `{"Hasty":true}`, "failing_syncs", "what was answered is there after reopening"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mustGoRed(t, "TestDiary", tt.part, tt.law, spoiled+"="+tt.rules)
		})
	}
}
