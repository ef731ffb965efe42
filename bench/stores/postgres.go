package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// privateServer is a PostgreSQL from the binaries that the distribution installed, with the settings it comes with, which
// listens on a socket in its folder.
type privateServer struct {
	dir, bin string
	owner    *syscall.Credential // nil: whoever runs this program
}

// runPostgres makes a server in dir and waits until it answers. Whatever it cannot do is an error that says so.
func runPostgres(ctx context.Context, dir string) (*privateServer, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	s := &privateServer{dir: dir, bin: bin}
	if err := s.disown(); err != nil {
		return nil, err
	}
	if err := s.control(ctx, "initdb", "-o", "--no-sync --auth=trust --username=postgres --encoding=UTF8 --locale=C"); err != nil {
		return nil, err
	}
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories='%s'", dir)
	if err := s.control(ctx, "start", "-w", "-l", filepath.Join(dir, "server.log"), "-o", options); err != nil {
		s.stop() // In case that it only was late.
		return nil, err
	}
	return s, nil
}

// disown gives the folder to another user if this program is root, whom PostgreSQL does not serve.
func (s *privateServer) disown() error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	s.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return errors.Join(uidErr, gidErr, os.Chown(s.dir, int(uid), int(gid)))
}

func (s *privateServer) connString() string {
	return fmt.Sprintf("host='%s' user=postgres dbname=postgres pool_max_conns=16", s.dir)
}

func (s *privateServer) stop() error { return s.control(context.Background(), "stop", "-m", "fast") }

// control runs pg_ctl. What it says goes to a file: the server inherits it, and a pipe would stay open as long as that runs.
func (s *privateServer) control(ctx context.Context, verb string, args ...string) error {
	said, err := os.Create(filepath.Join(s.dir, verb+".log"))
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_ctl"), append([]string{verb, "-D", filepath.Join(s.dir, "data")}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, said, said
	// In a group of its own the server is spared the interrupt of a terminal, so that it can be stopped.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.owner}
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(said.Name())
		return fmt.Errorf("pg_ctl %s: %w\n%s", verb, err, text)
	}
	return nil
}

// postgresPrograms answers their folder, which is not in the path on Debian.
func postgresPrograms() (string, error) {
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	if err != nil {
		return "", err
	}
	if len(folders) > 0 {
		return filepath.Dir(folders[len(folders)-1]), nil
	}
	found, err := exec.LookPath("pg_ctl")
	if err != nil {
		return "", fmt.Errorf("no PostgreSQL server is installed: %w", err)
	}
	return filepath.Dir(found), nil
}
