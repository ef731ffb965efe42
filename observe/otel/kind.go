package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
)

// kinds are in the order in which they are looked for: an error may be of several.
var kinds = []struct {
	name string
	is   func(error) bool
}{
	{"panic", or(as[*ferry.PanicError], as[*fold.PanicError])},
	{"goexit", or(is(ferry.ErrGoexit), is(projected.ErrGoexit))},
	{"count", or(as[*ferry.CountError], as[*projected.CountError])},
	{"timeout", is(context.DeadlineExceeded)},
	{"canceled", is(context.Canceled)},
	{"conflict", is(backends.ErrConflict)},
	{"refused", is(backends.ErrRefused)},
	{"unknown", is(backends.ErrUnknown)},
}

// errorType is the attribute that OpenTelemetry has for the kind of an error.
func (c Config) errorType(err error) attribute.KeyValue {
	return attribute.String("error.type", c.kind(err))
}

// kind survives a panic of the user's function: it is asked in the midst of calls, and observing must not fail them.
func (c Config) kind(err error) (kind string) {
	kind = "_OTHER"
	defer func() { _ = recover() }()
	if c.Kind != nil {
		if own := c.Kind(err); own != "" {
			return own
		}
	}
	for _, k := range kinds {
		if k.is(err) {
			return k.name
		}
	}
	return kind
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func or(one, other func(error) bool) func(error) bool {
	return func(err error) bool { return one(err) || other(err) }
}
