package mishap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Harm is what strace does to every sync of a process.
type Harm string

// The harms.
const (
	Slow Harm = "delay_enter=5000" // microseconds
	Fail Harm = "error=EIO"
)

// syncs are the calls by which a process asks for what it wrote to be on the disk.
const syncs = "fsync,fdatasync,msync,sync_file_range"

// Syncs are the syncs of a process that strace watches. Make them with [Process.HarmSyncs].
type Syncs struct {
	log    string
	strace *exec.Cmd
	ended  chan struct{}
}

// HarmSyncs has strace harm every sync of the process from now on until its end, and log them to a file. Its error is an
// [ErrUnable] where strace is not installed or not allowed to.
func (p *Process) HarmSyncs(harm Harm, log string) (*Syncs, error) {
	strace := exec.Command("strace", "-f", "-p", strconv.Itoa(p.cmd.Process.Pid), "-o", log,
		"-e", "signal=none", "-e", "trace="+syncs, "-e", "inject="+syncs+":"+string(harm))
	says, err := strace.StderrPipe()
	if err == nil {
		err = strace.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnable, err)
	}
	lines := bufio.NewReader(says)
	said, err := lines.ReadString('\n')
	if !strings.Contains(said, "attached") {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnable, strings.TrimSpace(said), errors.Join(err, strace.Wait()))
	}
	s := &Syncs{log: log, strace: strace, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		io.Copy(io.Discard, lines) // It says so of every thread.
		strace.Wait()
	}()
	return s, nil
}

// Count waits until the process has ended, and answers how many syncs were harmed.
func (s *Syncs) Count() (n int, err error) {
	<-s.ended
	log, err := os.ReadFile(s.log)
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "(INJECTED)") || strings.Contains(line, "(DELAYED)") {
			n++
		}
	}
	return n, err
}
