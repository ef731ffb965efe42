package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/goferry/goferry/backends/etcd/etcdtest"
)

// run is the whole story, over so many acknowledged entries. It prints what it does, and fails if the check at the end does.
func run(ctx context.Context, out io.Writer, entries int) error {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cluster, err := etcdtest.Start(dir, etcdtest.Config{})
	if err != nil {
		return err
	}
	defer cluster.Close()
	fmt.Fprintln(out, "cluster of 3 nodes at", strings.Join(cluster.Endpoints(), " "))

	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // Kills processes that an error has left.
	f := newFleet()
	for _, name := range []string{"p1", "p2", "p3"} {
		if err := f.start(ctx, name, cluster.Endpoints()); err != nil {
			return err
		}
	}
	if err := f.trouble(out, cluster, entries); err != nil {
		return err
	}
	if err := f.stop(); err != nil {
		return err
	}
	db, s, err := openStore(ctx, cluster.Endpoints())
	if err != nil {
		return err
	}
	return errors.Join(f.check(ctx, out, s), db.Close())
}

// fleet is the processes and what they have acknowledged.
type fleet struct {
	processes map[string]*running
	readers   sync.WaitGroup

	mu      sync.Mutex
	changed sync.Cond
	acks    []ack // guarded by mu
	gone    int   // guarded by mu; processes whose output has ended
}

type running struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func newFleet() *fleet {
	f := &fleet{processes: map[string]*running{}}
	f.changed.L = &f.mu
	return f
}

func (f *fleet) start(ctx context.Context, name string, nodes []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), child+"="+name, endpoints+"="+strings.Join(nodes, ","))
	cmd.Stderr = os.Stderr
	stdin, inErr := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		return err
	}
	f.processes[name] = &running{cmd: cmd, stdin: stdin}
	f.readers.Go(func() { f.read(stdout) })
	return nil
}

// read takes the acknowledgements of one process. A line that a kill has cut short is none.
func (f *fleet) read(from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var a ack
		if _, err := fmt.Sscan(lines.Text(), &a.Account, &a.ID, &a.Status); err != nil {
			continue
		}
		f.mu.Lock()
		f.acks = append(f.acks, a)
		f.changed.Broadcast()
		f.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone++
	f.changed.Broadcast()
}

// await returns when so many entries have been acknowledged, or nobody is left to write.
func (f *fleet) await(n int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.acks) < n {
		if f.gone == len(f.processes) {
			return fmt.Errorf("all processes have ended after %d of %d entries", len(f.acks), n)
		}
		f.changed.Wait()
	}
	return nil
}

// trouble kills a node and a process while entries are acknowledged, each after another sixth of them.
func (f *fleet) trouble(out io.Writer, cluster *etcdtest.Cluster, entries int) error {
	leader := -1
	steps := []struct {
		what string
		do   func() error
	}{
		{"killing the leading node", func() error {
			leader = max(cluster.Leader(), 0)
			cluster.Kill(leader)
			return nil
		}},
		{"two nodes go on", func() error { return nil }},
		{"killing process p2", func() error { return f.processes["p2"].cmd.Process.Kill() }},
		{"two processes go on", func() error { return nil }},
		{"starting the node again", func() error { return cluster.Restart(leader) }},
		{"stopping", func() error { return nil }},
	}
	for i, step := range steps {
		after := entries * (i + 1) / len(steps)
		if err := f.await(after); err != nil {
			return err
		}
		fmt.Fprintf(out, "%5d acknowledged: %s\n", after, step.what)
		if err := step.do(); err != nil {
			return err
		}
	}
	return nil
}

// stop lets the processes that are left finish what they have accepted.
func (f *fleet) stop() error {
	var errs []error
	for _, p := range f.processes {
		p.stdin.Close() // That of a killed process is closed already.
	}
	f.readers.Wait()
	for name, p := range f.processes {
		if err := p.cmd.Wait(); err != nil && name != "p2" {
			errs = append(errs, fmt.Errorf("process %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// check finishes what the killed process left behind, and compares logs, views and acknowledgements.
func (f *fleet) check(ctx context.Context, out io.Writer, s *store) error {
	resumed, err := finish(ctx, s)
	if err != nil {
		return err
	}
	booked := map[ack]int{}
	var wrong []error
	for account, err := range s.Keys(ctx) {
		if err != nil {
			return err
		}
		record, readErr := s.Read(ctx, account)
		rows, rowsErr := s.Rows(ctx, account)
		if err := errors.Join(readErr, rowsErr); err != nil {
			return err
		}
		wrong = append(wrong, compare(account, record.Body, rows))
		for _, e := range record.Body {
			booked[ack{Account: account, ID: e.ID}]++
		}
	}
	for _, a := range f.acks {
		if n := booked[ack{Account: a.Account, ID: a.ID}]; n != 1 {
			wrong = append(wrong, fmt.Errorf("entry %s of %s was acknowledged and is booked %d times", a.ID, a.Account, n))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	fmt.Fprintf(out, "pending accounts resumed: %d\n", resumed)
	fmt.Fprintf(out, "%d acknowledged, each once in log and view; %d more that were booked for the killed process before it could say so\n",
		len(f.acks), len(booked)-len(f.acks))
	return nil
}

// compare wants each entry of a log once, in the log and in the view.
func compare(account string, log ledger, rows []entry) error {
	ids := func(entries []entry) []string {
		var all []string
		for _, e := range entries {
			all = append(all, e.ID)
		}
		return slices.Sorted(slices.Values(all))
	}
	logged := ids(log)
	if once := slices.Compact(slices.Clone(logged)); len(once) != len(logged) {
		return fmt.Errorf("%s: %d entries are booked twice", account, len(logged)-len(once))
	}
	if !slices.Equal(ids(rows), logged) {
		return fmt.Errorf("%s: the view has %d rows of %d entries", account, len(rows), len(logged))
	}
	return nil
}
