// Package mishap ends processes, takes disks away from them, and makes their syncs slow or fail.
package mishap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// ErrUnable is the failure of what this machine cannot do, or this user may not.
var ErrUnable = errors.New("this machine cannot")

// Process is another process, of which some lines are kept. Make one with [Start].
type Process struct {
	cmd        *exec.Cmd
	prefix     string
	complaints strings.Builder // of its standard error; read it when it has ended
	ended      chan struct{}
	exit       error // written before ended is closed

	mu    sync.Mutex
	grown chan struct{} // guarded by mu; closed with the next line
	lines []string      // guarded by mu
}

// Start starts cmd in a process group of its own, and keeps the lines of its standard output that begin with prefix. End
// it with [Process.Kill].
func Start(cmd *exec.Cmd, prefix string) (*Process, error) {
	p := &Process{cmd: cmd, prefix: prefix, ended: make(chan struct{}), grown: make(chan struct{})}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.complaints
	}
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	return p, nil
}

func (p *Process) listen(out io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if line, ok := strings.CutPrefix(lines.Text(), p.prefix); ok {
			p.keep(line)
		}
	}
	p.exit = p.cmd.Wait()
}

func (p *Process) keep(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
	close(p.grown)
	p.grown = make(chan struct{})
}

// printed answers how many lines have been kept, and a channel that is closed with the next.
func (p *Process) printed() (lines int, grown <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines), p.grown
}

// Printed answers how many lines have been kept.
func (p *Process) Printed() int {
	lines, _ := p.printed()
	return lines
}

// Await returns when the process has printed so many lines more. It fails when the process ends before that, or has
// printed none for as long as patience.
func (p *Process) Await(more int, patience time.Duration) error {
	until, _ := p.printed()
	for until += more; ; {
		printed, grown := p.printed()
		if printed >= until {
			return nil
		}
		select {
		case <-grown:
		case <-p.ended:
			return fmt.Errorf("the process ended by itself (%v):\n%s", p.exit, p.complaints.String())
		case <-time.After(patience):
			return fmt.Errorf("the process has printed %d lines, and none for %v", printed, patience)
		}
	}
}

// Kill ends the process and its children, if it has not ended yet, waits for it, and answers all lines that were kept.
func (p *Process) Kill() []string {
	killGroup(p.cmd)
	<-p.ended
	return p.lines
}
