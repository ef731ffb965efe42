package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/goferry/goferry/backends"
)

var (
	// ErrUnsafe is the failure of an Open whose client or servers would not keep what this package promises.
	ErrUnsafe = errors.New("the connection would lose or repeat writes")
	// ErrClosed is the cause of an operation that is refused since its DB is closed.
	ErrClosed = errors.New("etcd: closed")
	// ErrTooLarge is the cause of a write that is refused since a record, a view or a row is larger than the servers take.
	ErrTooLarge = errors.New("etcd: larger than the servers take in one request")
	// ErrTimeout is the cause of an unknown outcome if Config.Timeout passed before the caller's deadline.
	ErrTimeout = errors.New("etcd: no answer within Config.Timeout")
)

// refusals are the answers of a server that it gives before it proposes a write to the cluster, or instead of applying it.
// Everything else is unknown.
//
// ErrNoSpace is not among them: a server gives it for the write which crosses the quota, too, and that one is applied.
var refusals = []error{
	rpctypes.ErrRequestTooLarge,
	rpctypes.ErrTooManyOps,
	rpctypes.ErrDuplicateKey,
	rpctypes.ErrEmptyKey,
	rpctypes.ErrTooManyRequests,
	rpctypes.ErrPermissionDenied,
	rpctypes.ErrInvalidAuthToken,
	rpctypes.ErrAuthOldRevision,
	rpctypes.ErrAuthFailed,
	rpctypes.ErrUserEmpty,
}

// failure is the error of a call with its class. limited is the caller's context ctx with the DB's timeout.
func (d *DB) failure(ctx, limited context.Context, op string, key any, err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return refused(op, key, fmt.Errorf("%w: %w", ErrTooLarge, err))
	case isRefusal(err):
		return refused(op, key, err)
	}
	if ended := backends.Ended(ctx, op, key); ended != nil {
		return ended
	}
	if limited.Err() != nil {
		// The error of limited would look like the end of the caller's context.
		err = fmt.Errorf("%w (%v)", ErrTimeout, d.config.Timeout)
	}
	return &backends.Error{Op: op, Key: key, Class: backends.ErrUnknown, Err: err}
}

func isRefusal(err error) bool {
	answer, ok := errors.AsType[rpctypes.EtcdError](err)
	return ok && slices.Contains(refusals, error(answer))
}

// refused is the error of an operation that did nothing and never will.
func refused(op string, key any, err error) error {
	return &backends.Error{Op: op, Key: key, Class: backends.ErrRefused, Err: err}
}

func conflict(op string, key any) error {
	return &backends.Error{Op: op, Key: key, Class: backends.ErrConflict}
}

// undecodable is the error of what is in etcd and means nothing to this build. It is left as it is.
func undecodable(op string, key any, err error) error {
	return refused(op, key, fmt.Errorf("%w: %w", backends.ErrUndecodable, err))
}

// fits refuses what no request can carry, before it is sent. A little less may still be too much for the servers, which
// count their own part too, and say so by the same error.
func (d *DB) fits(size int) error {
	if size > d.config.MaxRequestBytes {
		return fmt.Errorf("%w: %d bytes of %d", ErrTooLarge, size, d.config.MaxRequestBytes)
	}
	return nil
}
