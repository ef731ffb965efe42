package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/peer"
)

// profiles writes cpu and allocation profiles of goferry without a store to wait for: all the time that there is, is the lanes'
// and the callers'.
func profiles(dir string, s scale) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	runtime.MemProfileRate = 512 // Only here: a sample for every 512 bytes is slow.
	for _, c := range []cell{{256, 10_000, false, 0, 0}, {256, 10_000, true, 0, 0}} {
		name := "uniform"
		if c.zipf {
			name = "zipf"
		}
		if err := c.profile(filepath.Join(dir, name), s.longer(15).window); err != nil {
			return err
		}
	}
	return nil
}

func (c cell) profile(path string, w load.Window) error {
	cpu, err := os.Create(path + ".cpu.pprof")
	if err != nil {
		return err
	}
	defer cpu.Close()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	got, err := c.run(contender{peer.All[peer.Goferry], 0}, c.draws(), w)
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	mem, err := os.Create(path + ".allocs.pprof")
	if err != nil {
		return err
	}
	defer mem.Close()
	fmt.Printf("%v: %.0f entries/s, mean batch %.1f, %.2f allocations per entry, p99 %v: %s.*.pprof\n",
		c, got.PerSecond, got.Batch(), got.Allocs, got.P99.Round(time.Microsecond), path)
	return pprof.Lookup("allocs").WriteTo(mem, 0)
}
