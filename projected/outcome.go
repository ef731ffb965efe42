package projected

import "errors"

// Status says which of the two writes an input has been through. Its zero value is neither.
type Status int

const (
	// Projected means committed, and the view is known to include it.
	Projected Status = iota + 1
	// Committed means committed, but its projection was not confirmed.
	Committed
)

// String answers the status in lower case.
func (s Status) String() string {
	switch s {
	case Projected:
		return "projected"
	case Committed:
		return "committed"
	}
	return "unknown"
}

// ErrNoCause is the cause of an input that a projection listed as pending with a nil error.
var ErrNoCause = errors.New("projected: listed as pending without a cause")

// Outcome is what the caller of one input gets. Both statuses are successes: the input is durable.
//
// Tell the client of a Committed outcome that it is accepted, and why its view is late. The view may already
// include it. Do not resubmit to hurry it: a sweeper, or the next batch of the key, finishes the view.
// An input that Step rejected on its merits is a Result, under either status.
type Outcome[E error, O any] struct {
	_ struct{} // First, where it takes no room.

	// Status is Projected or Committed.
	Status Status
	// Result is what Step answered to the input.
	Result O
	// Err is the whole cause of a Committed outcome, nil for a Projected one: the input's own if the projection
	// listed it, else the last failure of the record's projection.
	Err error
}

// Cause answers the typed failure in Err, and false if there is none: the outcome is Projected, or the cause is a
// defect or an ended context.
func (o Outcome[E, O]) Cause() (E, bool) {
	return errors.AsType[E](o.Err)
}
