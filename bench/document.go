package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// head says where the figures come from and what they are worth.
func head(took time.Duration) string {
	return fmt.Sprintf(`# Benchmarks

Written by the program in bench/, not by hand: run it with %[1]smake bench%[1]s (or %[1]sgo -C bench run .%[1]s).

- Date: %[2]s, in %[3]v
- Machine: %[4]d cores, %[5]s, %[6]s/%[7]s, load average before %[8]s
- Go: %[9]s
- Peers: %[10]s

What is compared ran in turns, in several short rounds of the same process, and the tables show medians over the rounds. Ratios are medians of the
ratios within a round: the machine's bad moments are shared. Absolute figures are this machine's only. Callers and stores run on
the same cores as what is measured, so a figure without cost is a bound from below, for every contender alike.

Peers are small adapters around libraries or the usual hand-written code, in bench/internal/peer, in one process with goferry. All of goferry is
on that a service would run with: contexts that can be cancelled, an observer, all bounds but where a table says otherwise. Stores are
sleeps: a real one also takes cores and network. [Benchmarks of the stores](benchmarks-stores.md) has those.
`, "`", time.Now().UTC().Format(time.DateOnly), took.Round(time.Second), runtime.GOMAXPROCS(0), cpu(), runtime.GOOS, runtime.GOARCH, loadAtStart,
		runtime.Version(), strings.Join(versions(), ", "))
}

// loadAtStart is how busy the machine was before this program made it so.
var loadAtStart = loadAverage()

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(data))[0]
}

func cpu() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

// versions are those of the peers.
func versions() (all []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return []string{"unknown"}
	}
	for _, m := range info.Deps {
		switch m.Path {
		case "google.golang.org/api", "gocloud.dev", "github.com/failsafe-go/failsafe-go", "github.com/cenkalti/backoff/v5", "github.com/sethvargo/go-retry":
			all = append(all, m.Path+" "+m.Version)
		}
	}
	return all
}
