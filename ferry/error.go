package ferry

import (
	"errors"
	"fmt"
)

// Reasons why an input was not sent.
var (
	// ErrOverloaded: a bound had no room. The error is a [*BoundError] that says which.
	ErrOverloaded = errors.New("ferry: overloaded")
	// ErrClosed: the ferry is closed, or its Close ended before the input was sent.
	ErrClosed = errors.New("ferry: closed")
	// ErrReentrant: a method that waits was called from inside a call of the same ferry, with the call's context. It
	// could wait for itself.
	ErrReentrant = errors.New("ferry: called from inside a call of the same ferry")
	// ErrKey: the key is not equal to itself, as NaN is, or cannot be hashed.
	ErrKey = errors.New("ferry: not usable as a key")
	// ErrWeight: the weight is negative, or larger than a bound can ever take.
	ErrWeight = errors.New("ferry: impossible weight")
)

// Reasons why the outcome of an input that was sent is unknown, besides the error of the call itself.
var (
	// ErrStillOut: the call has not returned in time. It may still succeed.
	ErrStillOut = errors.New("ferry: the call is still out")
	// ErrGoexit: the call ended its goroutine with runtime.Goexit.
	ErrGoexit = errors.New("ferry: the call ended its goroutine")
)

// Error is the error of every submitted input.
type Error struct {
	// Key is the key of the input, nil if it could not be told.
	Key any
	// Sent is false if the input was never handed to a call: nothing has happened, and nothing will. True means
	// that its outcome is unknown: submit the same input again, and it is answered, applied once.
	Sent bool
	// Err is the reason: one of this package's, the error of the call, or that of the caller's context.
	Err error
}

// Error names the key, not the input.
func (e *Error) Error() string {
	fate := "not sent"
	if e.Sent {
		fate = "outcome unknown"
	}
	return fmt.Sprintf("ferry: key %v: %s: %v", e.Key, fate, e.Err)
}

// Unwrap answers the reason.
func (e *Error) Unwrap() error { return e.Err }

// NotSent says that the input was never handed to a call: trying again later cannot apply it twice, whatever the
// store does about replays. It asks the outermost error of a ferry in err's tree: what a call did with another
// ferry inside says nothing of this one.
func NotSent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !e.Sent
}

// BoundError is an [ErrOverloaded] with the field of [Config] that had no room.
type BoundError struct {
	Bound Bound
}

// Bound names a field of [Config] that bounds the queue.
type Bound string

// The bounds of the queue.
const (
	MaxQueued       Bound = "MaxQueued"
	MaxQueuedWeight Bound = "MaxQueuedWeight"
	MaxQueuedPerKey Bound = "MaxQueuedPerKey"
)

// Error names the bound.
func (e *BoundError) Error() string {
	return fmt.Sprintf("%v: no room within %s", ErrOverloaded, e.Bound)
}

// Is makes it an [ErrOverloaded].
func (e *BoundError) Is(target error) bool { return target == ErrOverloaded }

// CountError is a call that answered another number of outputs than it was given inputs. Its batch is not answered
// from them: none can be told from its neighbour's.
type CountError struct {
	Got, Want int
}

// Error says both numbers.
func (e *CountError) Error() string {
	return fmt.Sprintf("ferry: the call answered %d outputs for %d inputs", e.Got, e.Want)
}

// PanicError is a panic of a user's function, with the stack of where it happened.
type PanicError struct {
	Value any
	Stack []byte
}

// Error answers the panic's message if it panicked with an error or a string, else the type of its value.
func (e *PanicError) Error() string {
	switch v := e.Value.(type) {
	case error:
		return "panic: " + v.Error()
	case string:
		return "panic: " + v
	}
	return fmt.Sprintf("panic with a %T", e.Value)
}
