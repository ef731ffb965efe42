package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// slowDisk is what makes every sync take 5 ms longer, as those of a disk in a cloud do.
var slowDisk = []string{"-e", "inject=fsync,fdatasync:delay_exit=5000"}

// traced runs cells of an engine in a process of its own, all of whose syncs strace sees, and at full length: those of opening would
// be most of a short run. It answers what was measured and what strace says.
func traced(ctx context.Context, parent, engine string, options []string, names ...string) (m measured, said []byte, err error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return measured{}, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return measured{}, nil, err
	}
	dir, remove, err := folder(parent)
	if err != nil {
		return measured{}, nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	summary := filepath.Join(dir, "summary")
	args := append([]string{"-f", "--seccomp-bpf", "-qq", "-o", summary, "-e", "trace=fsync,fdatasync"}, options...)
	args = append(args, self, "-only", engine, "-cells", strings.Join(names, ","), "-json", "-write=false", "-dir", dir)
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, strace, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return measured{}, nil, fmt.Errorf("strace: %w\n%s", err, complaints.String())
	}
	var all []measured
	if err := json.Unmarshal(out.Bytes(), &all); err != nil || len(all) != 1 {
		return measured{}, nil, fmt.Errorf("a traced process printed figures of %d engines: %w", len(all), err)
	}
	said, err = os.ReadFile(summary)
	return all[0], said, err
}

// onSlowDisk is what 64 writers buy over one when a sync takes 5 ms more.
func onSlowDisk(ctx context.Context, dir, engine string) (float64, error) {
	m, _, err := traced(ctx, dir, engine, slowDisk, "seq1", "64 keys")
	return m.ratio("64 keys", "seq1"), err
}

// syncCall matches a call in strace's summary, with how often it was called.
var syncCall = regexp.MustCompile(`(?m)^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s.*(?:fsync|fdatasync)$`)

// syncs counts those for each commit of a cell, the few of opening and closing among them.
func syncs(ctx context.Context, dir, engine, cell string) (float64, error) {
	m, said, err := traced(ctx, dir, engine, []string{"-c"}, cell)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, call := range syncCall.FindAllSubmatch(said, -1) {
		calls, _ := strconv.Atoi(string(call[1]))
		n += calls
	}
	if n == 0 {
		return 0, fmt.Errorf("strace counted no syncs:\n%s", said)
	}
	return float64(n) / m.total(cell, commits), nil
}
