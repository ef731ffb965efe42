package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/peer"
)

// profiles writes profiles of goferry without a store to wait for: all the time that there is, is the lanes' and the callers'.
func profiles(dir string, s scale) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// One after the other: sampling allocations finely takes a quarter of the time, which is no part of the CPU profiles.
	runtime.MemProfileRate = 0
	uniform, zipf := cell{callers: 256, keys: 10_000}, cell{callers: 256, keys: 10_000, zipf: true}
	if err := profileCPU(filepath.Join(dir, "uniform.cpu.pprof"), uniform, s.longer(15).window); err != nil {
		return err
	}
	if err := profileCPU(filepath.Join(dir, "zipf.cpu.pprof"), zipf, s.longer(15).window); err != nil {
		return err
	}
	return profileAllocs(filepath.Join(dir, "zipf.allocs.pprof"), zipf, s.longer(5).window)
}

func profileCPU(path string, c cell, w load.Window) error {
	return toFile(path, func(f *os.File) error {
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		return c.show(path, w)
	})
}

func profileAllocs(path string, c cell, w load.Window) error {
	return toFile(path, func(f *os.File) error {
		runtime.MemProfileRate = 512 // bytes per sample
		if err := c.show(path, w); err != nil {
			return err
		}
		return pprof.Lookup("allocs").WriteTo(f, 0)
	})
}

// show runs c on goferry and says how it went.
func (c cell) show(path string, w load.Window) error {
	got, err := c.run(contender{peer.All[peer.Goferry], 0}, c.draws(), w)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %v: %.0f entries/s, mean batch %.1f, %.2f allocations per entry, p99 %v\n",
		path, c, got.PerSecond, got.Batch(), got.Allocs, got.P99.Round(time.Microsecond))
	return nil
}

func toFile(path string, write func(*os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
