//go:build unix

// Package pgserver runs a private PostgreSQL for tests and benchmarks, from the binaries that the distribution installed.
//
// A missing server is an error that says how to install one, never a skipped test.
package pgserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Server is a PostgreSQL in a temporary folder, which listens on a socket there. Its superuser is postgres, without a
// password.
type Server struct {
	dir, bin  string
	sameGroup bool
	process   *exec.Cmd
	exited    <-chan struct{}
}

// Start makes a new server and waits until it answers. settings are lines of postgresql.conf.
func Start(settings ...string) (*Server, error) { return StartIn("", settings...) }

// StartIn is Start with a folder below parent, whose path must be short: a socket will be in it.
func StartIn(parent string, settings ...string) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "pg")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	if err := s.create(settings); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// In is a server whose data is in dir, which it makes, and syncs, if there is none. It does not leave the process group of
// this process, and ends with it.
func In(dir string) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, sameGroup: true}
	if _, err := os.Stat(s.data()); err == nil {
		return s, errors.Join(s.bury(), s.Run())
	}
	return s, s.create(nil)
}

// bury removes the lock files of a server that was killed and is a zombie, which looks alive, until its new parent takes
// notice.
func (s *Server) bury() error {
	lock := filepath.Join(s.data(), "postmaster.pid")
	content, _ := os.ReadFile(lock) // None is fine, and so is a system without /proc.
	pid, _, _ := strings.Cut(string(content), "\n")
	stat, _ := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if !strings.Contains(string(stat), ") Z ") {
		return nil
	}
	return errors.Join(os.Remove(lock), os.Remove(s.Socket()+".lock"))
}

// Standby makes a server that follows this one.
func (s *Server) Standby() (*Server, error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	standby := &Server{dir: dir, bin: s.bin}
	if err := standby.follow(s); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return standby, nil
}

func (s *Server) follow(primary *Server) error {
	if err := s.own(); err != nil {
		return err
	}
	err := s.run("pg_basebackup", "--no-sync", "--checkpoint=fast", "--write-recovery-conf", "--pgdata="+s.data(),
		"--host="+primary.dir, "--username=postgres")
	if err != nil {
		return err
	}
	if err := s.configure("unix_socket_directories = '" + s.dir + "'"); err != nil {
		return err
	}
	return s.Run()
}

// own gives the folder to the user that the server runs as.
func (s *Server) own() error {
	if os.Getuid() != 0 {
		return nil
	}
	credential, err := unprivileged()
	if err != nil {
		return err
	}
	return os.Chown(s.dir, int(credential.Uid), int(credential.Gid))
}

// configure adds settings, of which the last counts.
func (s *Server) configure(settings ...string) error {
	conf, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(conf, strings.Join(settings, "\n"))
	return errors.Join(err, conf.Close())
}

func (s *Server) create(settings []string) error {
	if err := s.own(); err != nil {
		return err
	}
	if err := s.run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--pgdata="+s.data()); err != nil {
		return err
	}
	settings = append([]string{
		"listen_addresses = ''",
		"unix_socket_directories = '" + s.dir + "'",
		"max_connections = 200",
	}, settings...)
	if err := errors.Join(s.configure(settings...), s.sync()); err != nil {
		return err
	}
	return s.Run()
}

// sync makes up for --no-sync where the data is to be kept.
func (s *Server) sync() error {
	if !s.sameGroup {
		return nil
	}
	return exec.Command("sync", "--file-system", s.dir).Run()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Run starts the server again after a Kill, and waits until it answers.
func (s *Server) Run() error {
	for deadline := time.Now().Add(time.Minute); ; {
		err := s.start(deadline)
		if err == nil || time.Now().After(deadline) || !killedJustNow(err) {
			return err
		}
	}
}

// killedJustNow says whether processes and memory of a server that was killed are still there. They go by themselves.
func killedJustNow(err error) bool {
	said := err.Error()
	return strings.Contains(said, "pre-existing shared memory block") || strings.Contains(said, `"postmaster.pid" already exists`)
}

func (s *Server) start(deadline time.Time) error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	process, exited := s.command("postgres", "-D", s.data()), make(chan struct{})
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		return err
	}
	s.process, s.exited = process, exited
	go func() {
		process.Wait()
		close(exited)
	}()
	for {
		unready := s.run("pg_isready", "-q", "-h", s.dir)
		if unready == nil {
			return nil
		}
		select {
		case <-exited:
		default:
			if time.Now().Before(deadline) {
				continue
			}
			s.Kill()
		}
		said, err := os.ReadFile(log.Name())
		return fmt.Errorf("the server does not start: %w\n%s", errors.Join(unready, err), said)
	}
}

// Kill ends all processes of the server at once, as a crash would.
func (s *Server) Kill() {
	pid := s.process.Process.Pid
	children, _ := exec.Command("ps", "-o", "pid=", "--ppid", strconv.Itoa(pid)).Output()
	s.end(syscall.SIGKILL)
	for field := range strings.FieldsSeq(string(children)) {
		if child, err := strconv.Atoi(field); err == nil {
			syscall.Kill(child, syscall.SIGKILL)
		}
	}
}

// Quit ends the server. The next one finds its data as after a crash.
func (s *Server) Quit() { s.end(syscall.SIGQUIT) }

// Close ends the server and removes its folder.
func (s *Server) Close() error {
	s.Quit()
	return os.RemoveAll(s.dir)
}

func (s *Server) end(signal syscall.Signal) {
	s.process.Process.Signal(signal)
	<-s.exited
}

// Socket is the path of the socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// ConnString is how clients connect. database is postgres unless another was made.
func (s *Server) ConnString(database string) string {
	return fmt.Sprintf("host=%s port=5432 user=postgres dbname=%s", s.dir, database)
}

// command is a program of the server, not as root, whom PostgreSQL does not serve. A process group of its own keeps the
// interrupt of a terminal from it.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !s.sameGroup}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential, _ = unprivileged()
	}
	return cmd
}

func (s *Server) run(name string, args ...string) error {
	var said bytes.Buffer
	cmd := s.command(name, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, said.String())
	}
	return nil
}

func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

// binaries finds the newest server.
func binaries() (string, error) {
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.SortFunc(folders, func(a, b string) int { return version(b) - version(a) })
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(initdb))
	}
	for _, folder := range folders {
		_, initdb := os.Stat(filepath.Join(folder, "initdb"))
		_, postgres := os.Stat(filepath.Join(folder, "postgres"))
		if initdb == nil && postgres == nil {
			return folder, nil
		}
	}
	return "", fmt.Errorf("a PostgreSQL server is needed, and none is installed: "+
		"on Debian and Ubuntu `apt-get install postgresql`, on macOS `brew install postgresql`; looked in %q on %s", folders, runtime.GOOS)
}

func version(folder string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
	return n
}
