package sheetstest

import (
	"fmt"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Profile picks one reading of the behaviour that the live service does not
// document. Code that is right under [P1] and [P2] does not depend on which
// reading is true. The zero value is P1.
type Profile int

const (
	// P1 is the strict reading: lengths count UTF-16 units, NUL is kept, an
	// empty text makes a blank cell, reads are never stale, 429 means that
	// nothing was applied, and every bad request is answered 400.
	P1 Profile = iota
	// P2 is the lenient reading: lengths count runes, a text holding NUL is
	// refused, an empty text is kept as a text, reads within three seconds of
	// a commit answer from up to two commits ago, a throttled write was
	// applied before it was answered 429, a bad write is answered 500, and the
	// refusal of a duplicate metadata id says something else. The refusals
	// whose status is well known (that one, a protected cell, a payload that
	// does not decode) stay 400.
	P2
	// P3 is P1, except that creating developer metadata under an id in use
	// succeeds. A fence built on metadata ids does not hold here.
	P3
)

// String returns "P1", "P2" or "P3".
func (p Profile) String() string { return fmt.Sprintf("P%d", int(p)+1) }

// traits is what a profile decides.
type traits struct {
	length             func(string) int
	refuseNUL          bool
	keepEmptyText      bool
	staleBy            int
	staleFor           time.Duration
	throttleAfterApply bool
	badRequestIs500    bool
	acceptDuplicateIDs bool
	duplicateID        string
}

// utf16Units is the length of a text in UTF-16.
func utf16Units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

func (p Profile) traits() traits {
	strict := traits{
		length:      utf16Units,
		duplicateID: "Developer metadata with this id already exists.",
	}
	switch p {
	case P1:
		return strict
	case P2:
		return traits{
			length:             utf8.RuneCountInString,
			refuseNUL:          true,
			keepEmptyText:      true,
			staleBy:            2,
			staleFor:           3 * time.Second,
			throttleAfterApply: true,
			badRequestIs500:    true,
			duplicateID:        "The requested change could not be made.",
		}
	case P3:
		strict.acceptDuplicateIDs = true
		return strict
	}
	panic(fmt.Sprintf("sheetstest: Options.Profile: unknown profile %d", int(p)))
}
