package fold

import (
	"fmt"
	"runtime/debug"
)

// Phase says how far an attempt came.
type Phase string

// The phases of an attempt, in their order.
const (
	Reading  Phase = "read"
	Stepping Phase = "step"
	Writing  Phase = "write"
)

// Error is the error of a call: what failed last, and what is known of the write.
type Error struct {
	// Key is the key of the call.
	Key any
	// Attempts counts the round trips that were begun. It is 0 if the context had ended before the first.
	Attempts int
	// Phase is where the last attempt failed.
	Phase Phase
	// Unknown says that an attempt's write may have happened, or may still. Submitting the same inputs again
	// is safe: Step finds those that the record already holds. When it is false nothing was written.
	Unknown bool
	// Err is the last failure: a typed failure when the retries ended, a defect such as a [*PanicError],
	// or the context's error together with the last failure before it.
	Err error
}

// Error names the key, the phase and the number of attempts, never an input or a record.
func (e *Error) Error() string {
	unknown := ""
	if e.Unknown {
		unknown = ", outcome unknown"
	}
	return fmt.Sprintf("fold: %s %v (attempts: %d%s): %v", e.Phase, e.Key, e.Attempts, unknown, e.Err)
}

// Unwrap answers the last failure.
func (e *Error) Unwrap() error { return e.Err }

// NotWritten is the contract of [FoldWrite.Write], for a call that is itself somebody's write. It also
// hides the method of the error inside: a conflict in the last attempt says nothing of an earlier one.
func (e *Error) NotWritten() bool { return !e.Unknown }

// around completes the error. The key comes last, since to make an any of it may allocate, which success need not pay.
func (e Error) around(key any, err error) *Error {
	e.Key, e.Err = key, err
	return &e
}

// PanicError is a panic of a user's function, turned into an error. It is a defect: it is never retried, and what
// it panicked with is not unwrapped, so that it is never taken for a typed failure.
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

// Recover is to be deferred: it turns a panic of the surrounding function into a [*PanicError] in *err.
func Recover(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}
}
