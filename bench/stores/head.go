package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/goferry/goferry/bench/internal/report"
)

// head says where the figures come from and what they are worth. It is a format for the time that they took.
func head(dir string, cuts int) (string, error) {
	sync, err := syncTime(dir)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`# Benchmarks of the stores

Written by the program in bench/stores/, not by hand: run it with %[1]sgo -C bench/stores run .%[1]s. [Benchmarks](benchmarks.md) has
goferry beside other libraries.

- Date: %[2]s, in %%v
- Machine: %[3]d cores, %[4]s/%[5]s, load average before %[6]s; a sync of its disk takes %[7]s
- Go: %[8]s
- Engines: %[9]s

A record is 1 KiB and 100 bytes for each entry of its last write. The cells, each with a read before every commit:

- seq1, seq64: one writer on one key, 1 or 64 entries a write
- 64 keys, 64x64: 64 writers, each on a key of its own, 1 or 64 entries a write; ungrouped is the store with groups of one
- many64: one entry to each of 64 keys at once, then wait for all of them
- proj1, proj64: commit 1 or 64 entries, then write their rows and clear the marker
- hot8: 8 writers on one key who try again at once when they are refused; with lanes they share writes
- by hand: a loop as one writes it against the engine without goferry, into the same tables. It shows what the engine and the machine
  allow: where a rate is missed there too, it is theirs

Transactions and statements are per commit that was asked for, those of projections included. The cells of an engine ran in turns.
Rates, times, and ratios within a round are medians of three rounds. Clients and servers share the cores. After every cell
every entry was looked for: lost were answered and are not there, doubled are there twice.

On the slow disk each sync took 5 ms more; etcd had one node there, since three on one disk wait for each other. Syncs were counted from
outside. Connections were cut %[10]d times, every 30 to 90 ms, mostly between the answer of the server and the client.
`, "`", time.Now().UTC().Format(time.DateOnly), runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH, loadAverage(), report.Duration(sync),
		runtime.Version(), strings.Join(versions(), ", "), cuts), nil
}

// syncTime is the median of what a small write within a file and its sync take, as those of a log are.
func syncTime(dir string) (median time.Duration, err error) {
	f, err := os.CreateTemp(dir, "sync")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if err := f.Truncate(1 << 20); err != nil {
		return 0, err
	}
	times := make([]time.Duration, 51)
	for i := range times {
		begun := time.Now()
		if _, err := f.WriteAt(make([]byte, 1024), int64(i)<<10); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times[i] = time.Since(begun)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(data))[0]
}

func versions() (all []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return []string{"unknown"}
	}
	for _, m := range info.Deps {
		switch m.Path {
		case "modernc.org/sqlite", "github.com/jackc/pgx/v5", "go.etcd.io/etcd/server/v3":
			all = append(all, m.Path+" "+m.Version)
		}
	}
	return all
}
