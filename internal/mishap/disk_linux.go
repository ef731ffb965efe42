package mishap

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// Disk is a file system of its own, in a file, whose power can be cut. Make one with [NewDisk].
type Disk struct {
	// Dir is where it is mounted.
	Dir     string
	image   string
	mounted bool
}

const diskSize = 256 << 20

// NewDisk makes and mounts a disk in dir. Its error is an [ErrUnable] where that takes what the machine lacks: root, a
// loop device, mkfs.ext4, a kernel that cuts. Unmount it in the end.
func NewDisk(dir string) (*Disk, error) {
	d := &Disk{Dir: filepath.Join(dir, "disk"), image: filepath.Join(dir, "image")}
	if os.Getuid() != 0 {
		return nil, fmt.Errorf("%w: only root may mount", ErrUnable)
	}
	if err := errors.Join(os.Mkdir(d.Dir, 0o755), os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, diskSize)); err != nil {
		return nil, err
	}
	if err := run("mkfs.ext4", "-q", "-F", d.image); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnable, err)
	}
	// Once before there is anything to lose: a container may be allowed to mount and no more.
	err := errors.Join(d.Mount(), d.Cut(), d.Unmount(), d.Mount())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnable, errors.Join(err, d.Unmount()))
	}
	return d, nil
}

// Mount mounts the disk, which replays its journal, as after a power cut.
func (d *Disk) Mount() error {
	err := run("mount", "-o", "loop", d.image, d.Dir)
	d.mounted = err == nil
	return err
}

// Cut makes the disk lose what has not been synced: everything that is written to it fails from now on.
func (d *Disk) Cut() error {
	const (
		shutdown   = 0x8004587d // EXT4_IOC_SHUTDOWN
		noLogFlush = 2
	)
	root, err := os.Open(d.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	how := uint32(noLogFlush)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, root.Fd(), shutdown, uintptr(unsafe.Pointer(&how))); errno != 0 {
		return fmt.Errorf("cut the power of %s: %w", d.Dir, errno)
	}
	return nil
}

// Unmount unmounts the disk if it is mounted, and kills whoever still uses it, as a machine without power does.
func (d *Disk) Unmount() error {
	if !d.mounted {
		return nil
	}
	var err error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = syscall.Unmount(d.Dir, 0); !errors.Is(err, syscall.EBUSY) {
			break
		}
		d.killUsers()
	}
	if err != nil {
		err = fmt.Errorf("unmount %s: %w", d.Dir, errors.Join(err, run("umount", "--lazy", d.Dir)))
	}
	d.mounted = false
	return err
}

// killUsers kills the other processes that are in a folder of the disk, or have a file of it open.
func (d *Disk) killUsers() {
	for _, pattern := range []string{"/proc/[0-9]*/cwd", "/proc/[0-9]*/fd/*"} {
		links, _ := filepath.Glob(pattern) // Its only error is that of a bad pattern.
		for _, link := range links {
			used, err := os.Readlink(link)
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			if err == nil && (used == d.Dir || strings.HasPrefix(used, d.Dir+"/")) && pid != os.Getpid() {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

func run(name string, args ...string) error {
	if said, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w %s", name, err, strings.TrimSpace(string(said)))
	}
	return nil
}
