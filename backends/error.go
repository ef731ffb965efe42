package backends

import (
	"context"
	"errors"
	"fmt"
)

// The classes of an [Error]: each is exactly one of them, by errors.Is.
var (
	// ErrConflict: the store holds another record than the one that the write was made for. Nothing was written.
	ErrConflict = errors.New("conflict: the record is not the one that was read")
	// ErrRefused: the store did not do it and never will: throttled, too large, unavailable before it was sent.
	ErrRefused = errors.New("refused")
	// ErrUnknown: the write may have happened, or may still.
	ErrUnknown = errors.New("outcome unknown")
)

// ErrUndecodable is the cause of a refused read of a record that this build cannot decode.
var ErrUndecodable = errors.New("the record cannot be decoded")

// Error is the typed failure of every backend.
type Error struct {
	// Op is what failed: read, commit, list, project, missing, put or clear.
	Op string
	// Key is the key it failed for, nil for a listing.
	Key any
	// Class is ErrConflict, ErrRefused or ErrUnknown.
	Class error
	// Err is the cause, or nil. It holds no bodies and no rows.
	Err error
}

// Error names the operation, the key and the class.
func (e *Error) Error() string {
	at := e.Op
	if e.Key != nil {
		at = fmt.Sprintf("%s %v", e.Op, e.Key)
	}
	if e.Err == nil {
		return fmt.Sprintf("%s: %v", at, e.Class)
	}
	return fmt.Sprintf("%s: %v: %v", at, e.Class, e.Err)
}

// Unwrap answers the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Err}
}

// NotWritten says that nothing was written and nothing will be.
func (e *Error) NotWritten() bool { return e.Class != ErrUnknown }

// Ended answers the Error of an operation whose context has ended, nil if it has not. A write may have been
// sent, so its outcome is unknown.
func Ended(ctx context.Context, op string, key any) error {
	if err := ctx.Err(); err != nil {
		return &Error{Op: op, Key: key, Class: ErrUnknown, Err: err}
	}
	return nil
}
