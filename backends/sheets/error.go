package sheets

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goferry/goferry/backends/sheets/internal/fence"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
)

// Code is the stable name of a failure. The list is closed.
type Code string

// The codes. Those of transactions stand in the queue's column lastErrorCode, too.
const (
	// CodeInvalidTask: a task or its queue row is malformed or was edited. Not retried.
	CodeInvalidTask Code = "invalid_task"
	// CodeSchemaDrift: headers, key column, versions or duplicate keys make the table unsafe. Not retried; [Queue.Reset]
	// releases the transaction when the table is mended.
	CodeSchemaDrift Code = "schema_drift"
	// CodeConflict: a key is there, missing, or at another version than expected; or, for an operation, other writers
	// kept coming first. A transaction is not retried.
	CodeConflict Code = "conflict"
	// CodePartialApply: some of a transaction seems to be applied, or it cannot be told. Not retried.
	CodePartialApply Code = "partial_apply"
	// CodeProcessorTimeout: the time of a pass ended within a claimed transaction. The attempt counts; retried.
	CodeProcessorTimeout Code = "processor_timeout"
	// CodeInternalError: an unexpected failure. Retried until the attempts are used up.
	CodeInternalError Code = "internal_error"
	// CodeRetryLimitExceeded: the attempts are used up.
	CodeRetryLimitExceeded Code = "retry_limit_exceeded"
	// CodeDuplicateTask: the task's id is taken by another task.
	CodeDuplicateTask Code = "duplicate_task"
	// CodeDuplicateTransaction: the transaction's id is taken by another transaction.
	CodeDuplicateTransaction Code = "duplicate_transaction"
	// CodeDependencyFailed: the transaction that this one depends on failed, or is not to be found.
	CodeDependencyFailed Code = "dependency_failed"
	// CodeSheetNotFound: the table is not set up, is still being imported, or its sheet is gone.
	CodeSheetNotFound Code = "sheet_not_found"
	// CodeSheetProtected: the caller may not edit a sheet that the transaction needs.
	CodeSheetProtected Code = "sheet_protected"
	// CodeSystemSheetNameCollision: somebody else's sheet has the title of an internal one, or the other way round.
	CodeSystemSheetNameCollision Code = "system_sheet_name_collision"
	// CodeInvalidMeta: a row of the meta sheet does not fit.
	CodeInvalidMeta Code = "invalid_meta"
	// CodeFenceBroken: the fence sheet is gone, edited, or of another spreadsheet. [Queue.RepairFence] is the cure.
	CodeFenceBroken Code = "fence_broken"
	// CodeFenceRewound: the fence went back, as after restoring an old version. [Queue.RepairFence] is the cure.
	CodeFenceRewound Code = "fence_rewound"
	// CodeTooLarge: a value, a task or a transaction exceeds what a cell or a request holds.
	CodeTooLarge Code = "too_large"
	// CodeUnknownOutcome: the write may have happened, or may still. Submit the same ids again.
	CodeUnknownOutcome Code = "unknown_outcome"
	// CodeConfiguration: no access, no such spreadsheet, or not initialised.
	CodeConfiguration Code = "configuration"
)

// Error is the typed failure of this package. It names what is wrong, never a payload, a key's value, or the
// service's own text.
type Error struct {
	Code Code
	// Transaction, Task, Sheet and Row say where, as far as they apply. Sheet is a logical name or a title, Row
	// counts from 1.
	Transaction, Task, Sheet string
	Row                      int
	// Detail says what is wrong, in words of this package.
	Detail string
	// Err is the cause, such as a context's error, or nil.
	Err error

	_ struct{}
}

// Error names the code, the place and the detail.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("sheets: " + string(e.Code))
	for _, at := range []struct{ what, name string }{{"transaction", e.Transaction}, {"task", e.Task}, {"sheet", e.Sheet}} {
		if at.name != "" {
			fmt.Fprintf(&b, ", %s %q", at.what, at.name)
		}
	}
	if e.Row != 0 {
		fmt.Fprintf(&b, ", row %d", e.Row)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap answers the cause.
func (e *Error) Unwrap() error { return e.Err }

// NotWritten says that nothing was written and nothing will be.
func (e *Error) NotWritten() bool { return e.Code != CodeUnknownOutcome }

// Is makes errors.Is compare by code with a target that has only a code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && *t == Error{Code: e.Code}
}

// errorOf turns an error of the packages below into an *Error.
func errorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	failure, failed := errors.AsType[*grid.Failure](err)
	var cause error // Not a nil *Failure in an error.
	if failed {
		cause = failure
	}
	switch {
	case errors.Is(err, fence.ErrConflict):
		return &Error{Code: CodeConflict, Detail: "another writer came first", Err: fence.ErrConflict}
	case errors.Is(err, errMoved):
		return &Error{Code: CodeConflict, Detail: "another writer came between two reads", Err: errMoved}
	case errors.Is(err, fence.ErrRefused):
		return &Error{Code: CodeInternalError, Detail: "the service refuses the batch", Err: fence.ErrRefused}
	case errors.Is(err, fence.ErrDenied):
		return &Error{Code: CodeConfiguration, Detail: "no access, or no such spreadsheet", Err: cause}
	case errors.Is(err, fence.ErrUnknown):
		return &Error{Code: CodeUnknownOutcome, Detail: "the write may have happened, or may still", Err: cause}
	case errors.Is(err, fence.ErrMissing), errors.Is(err, fence.ErrUnreadable):
		return &Error{Code: CodeFenceBroken, Sheet: fence.Title, Detail: "the fence is gone or edited; RepairFence lays a new one"}
	case errors.Is(err, fence.ErrCopied):
		return &Error{Code: CodeFenceBroken, Sheet: fence.Title, Detail: "the spreadsheet is a copy; RepairFence makes it its own"}
	case errors.Is(err, fence.ErrForeign):
		return &Error{Code: CodeSystemSheetNameCollision, Sheet: fence.Title, Detail: "its title or id is taken by something else"}
	case failed && failure.Kind == grid.Denied:
		return &Error{Code: CodeConfiguration, Detail: "no access, or no such spreadsheet", Err: cause}
	case failed:
		return &Error{Code: CodeInternalError, Detail: "a read failed", Err: cause}
	}
	return &Error{Code: CodeInternalError, Err: err}
}
