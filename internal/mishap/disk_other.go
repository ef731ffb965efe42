//go:build !linux

package mishap

import "fmt"

// Disk is a file system whose power can be cut. There is none here.
type Disk struct{ Dir string }

// NewDisk answers ErrUnable.
func NewDisk(string) (*Disk, error) { return nil, fmt.Errorf("%w: it takes Linux", ErrUnable) }

// Mount does nothing.
func (d *Disk) Mount() error { return nil }

// Cut does nothing.
func (d *Disk) Cut() error { return nil }

// Unmount does nothing.
func (d *Disk) Unmount() error { return nil }
