package storetest

import (
	"iter"
	"slices"

	"github.com/goferry/goferry/backends"
)

// What follows is the pipeline of those tests that a user of the public kit would write: a log of names, each of which
// is an input, its identity and its row.

// Itself is the identity of a name.
func Itself(name string) string { return name }

// WithName is the step: it answers the place of name in the log.
func WithName(log []string, name string) (next []string, place int, changed bool) {
	if at := slices.Index(log, name); at >= 0 {
		return log, at, false
	}
	return append(slices.Clip(log), name), len(log), true
}

// EachName yields the rows of a log with their identities.
func EachName(log []string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, name := range log {
			if !yield(name, name) {
				return
			}
		}
	}
}

// Names are the identities that a record holds.
func Names(r backends.Record[[]string]) []string { return r.Body }

// Throttled is a failure as a store has it.
func Throttled() *backends.Error { return &backends.Error{Op: "store", Class: backends.ErrRefused} }
