package sqlite

import (
	"errors"

	sqlite3 "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/internal/group"
)

var (
	// ErrClosed is the cause of an operation that is refused since its DB is closed.
	ErrClosed = errors.New("sqlite: closed")
	// ErrStopped is the cause of a write that is refused since an earlier COMMIT failed at the disk. The DB writes no
	// more; it still reads. Close it, see to the disk, and open the file again.
	ErrStopped = errors.New("sqlite: stopped writing, since a commit failed")
)

// failure is err with its class. The definite refusals are a white-list, everything else is unknown.
func failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errConflict):
		return &backends.Error{Class: backends.ErrConflict}
	case errors.Is(err, group.ErrClosed):
		err = ErrClosed
	}
	return &backends.Error{Class: classOf(err), Err: err}
}

func classOf(err error) error {
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrStopped) {
		return backends.ErrRefused
	}
	if _, committing := errors.AsType[*commitError](err); committing {
		return backends.ErrUnknown
	}
	switch code(err) {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_TOOBIG, codes.SQLITE_FULL, codes.SQLITE_READONLY:
		return backends.ErrRefused
	}
	return backends.ErrUnknown
}

// code answers SQLite's primary result code, 0 for an error of another origin.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite3.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

func isBusy(err error) bool { return code(err) == codes.SQLITE_BUSY }
