package fence

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
	"github.com/goferry/goferry/backends/sheets/internal/grid"
)

// The titles of the fence sheet and of the one before it, kept until the next roll so that writers of its
// epoch are still refused. Readers ask for Title only.
const (
	Title     = "_typed_sheets_fence"
	PrevTitle = "_typed_sheets_fence_prev"
)

// ringSize is how many commits a fence row remembers by their tokens.
const ringSize = 64

// State is a fence row: the number of the last commit, who made it, and what the queue keeps beside them. It is
// immutable; its slices are never changed in place.
type State struct {
	Number int64  // of the last commit, 0 before the first
	Token  string // of the last commit
	Epoch  int64  // counts the fence sheets, from 1
	// BlockStart is the metadata id whose holder made commit BlockFirst; later commits follow one by one.
	BlockStart, BlockFirst int64
	Spreadsheet            string // a copy of the spreadsheet does not have this id

	Head, Tail int64 // first row that is not terminal, and last row, of the queue
	Counter    int64 // the last sequence that was given
	Layout     int64 // changes whenever rows of the queue move or come back to life
	// Counts are the rows of the queue by status: pending, processing, done, failed.
	Counts   [4]int64
	Tampered int64 // how often a person's edit was detected
	// RemovedSequence is the highest sequence that cleanup removed, and RemovedAt when.
	RemovedSequence int64
	RemovedAt       string

	// CheckedFrom and CheckedTo are the rows that Checksum covers, 0 if none.
	CheckedFrom, CheckedTo int64
	Checksum               string
	ring                   []mark // the last commits, oldest first
}

type mark struct {
	number int64
	token  string
}

// Next is the state of the commit after s, with a new token.
func (s State) Next() State {
	next := s
	next.Number++
	next.Token = newToken()
	next.ring = append(slices.Clone(s.ring[max(0, len(s.ring)-ringSize+1):]), mark{next.Number, next.Token})
	next.CheckedFrom, next.CheckedTo = 0, 0
	return next.Sealed(nil)
}

// Sealed answers s with the checksum over its own numbers and the given cells of queue rows.
func (s State) Sealed(cells [][]any) State {
	s.Checksum = s.sum(cells)
	return s
}

// Intact says whether nobody edited what the last commit wrote: cells are those of the rows CheckedFrom to CheckedTo.
func (s State) Intact(cells [][]any) bool { return s.Checksum == s.sum(cells) }

// Holds says whether commit number was made under token, as far as s remembers.
func (s State) Holds(number int64, token string) bool {
	return slices.Contains(s.ring, mark{number, token})
}

func (s State) holder(number int64) string {
	for _, m := range s.ring {
		if m.number == number {
			return m.token
		}
	}
	return ""
}

// newToken answers 12 random characters.
func newToken() string { return rand.Text()[:12] }

func (s State) sum(cells [][]any) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\x1f%s\x1f%d\x1f%d\x1f%d", s.Number, s.Token, s.Head, s.Tail, s.Counter)
	for _, row := range cells {
		h.Write([]byte{0x1e})
		for _, v := range row {
			text, _ := ecma.String(v)
			fmt.Fprintf(h, "%T%d\x1f%s\x1f", v, len(text), text)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// fields lists the columns of a fence row in their order: the format.
func (s *State) fields() []field {
	return []field{
		integer("number", &s.Number), text("token", &s.Token), integer("epoch", &s.Epoch),
		integer("blockStart", &s.BlockStart), integer("blockFirst", &s.BlockFirst), text("spreadsheetId", &s.Spreadsheet),
		integer("head", &s.Head), integer("tail", &s.Tail), integer("counter", &s.Counter), integer("layout", &s.Layout),
		integer("pending", &s.Counts[0]), integer("processing", &s.Counts[1]),
		integer("done", &s.Counts[2]), integer("failed", &s.Counts[3]), integer("tampered", &s.Tampered),
		integer("removedSequence", &s.RemovedSequence), text("removedAt", &s.RemovedAt),
		integer("checkedFrom", &s.CheckedFrom), integer("checkedTo", &s.CheckedTo), text("checksum", &s.Checksum),
	}
}

type field struct {
	name string
	get  func() any
	set  func(any) bool
}

func integer(name string, p *int64) field {
	return field{name, func() any { return float64(*p) }, func(v any) bool {
		f, ok := ecma.Finite(v)
		*p = int64(f)
		return ok && f >= 0 && f == math.Trunc(f) && f <= ecma.MaxSafeInteger
	}}
}

func text(name string, p *string) field {
	return field{name, func() any { return *p }, func(v any) bool {
		s, ok := v.(string)
		*p = s
		return ok || v == nil
	}}
}

// columns is the width of a fence sheet; the ring is the last of those in use.
const columns = 26

func (s State) cells() [][]any {
	var names, values []any
	for _, f := range s.fields() {
		names, values = append(names, f.name), append(values, f.get())
	}
	var ring []string
	for _, m := range s.ring {
		ring = append(ring, strconv.FormatInt(m.number, 10)+":"+m.token)
	}
	return [][]any{append(names, "ring"), append(values, strings.Join(ring, " "))}
}

// Range is the A1 range of the fence row, to stand in every read.
func Range() string { return grid.Rows(Title, 2, 2, columns) }

// What Decode refuses.
var (
	// ErrMissing: there is no fence sheet.
	ErrMissing = errors.New("fence: there is no fence sheet")
	// ErrUnreadable: the fence row is not one that a commit wrote.
	ErrUnreadable = errors.New("fence: the fence row was edited")
	// ErrCopied: the spreadsheet is a copy of the one that the fence was laid in.
	ErrCopied = errors.New("fence: the spreadsheet is a copy of another one")
	// ErrForeign: a sheet that is not ours has the fence's title, or a metadata entry that is not ours an id of it.
	ErrForeign = errors.New("fence: its title or id is taken by something else")
)

// Unfit says whether err is one of those of [Fence.Decode]. A read that is stale may show what another read does not.
func Unfit(err error) bool {
	return errors.Is(err, ErrMissing) || errors.Is(err, ErrUnreadable) || errors.Is(err, ErrCopied) || errors.Is(err, ErrForeign)
}

// Decode reads the fence row from a view of [Range].
func (f *Fence) Decode(view *grid.View) (State, error) {
	tab := view.Tabs[Title]
	if tab == nil {
		return State{}, ErrMissing
	}
	var s State
	fields := s.fields()
	for i, field := range fields {
		if !field.set(tab.At(2, i)) {
			return State{}, ErrUnreadable
		}
	}
	ring, _ := tab.At(2, len(fields)).(string)
	if !s.readRing(ring) {
		return State{}, ErrUnreadable
	}
	switch {
	case s.Spreadsheet != view.ID:
		return State{}, ErrCopied
	case tab.ID != f.kind.sheetID(s):
		return State{}, ErrForeign
	}
	return s, nil
}

// readRing refuses a ring that does not end in the row's own number and token, or has gaps: one cell edited alone
// is noticed.
func (s *State) readRing(ring string) bool {
	for entry := range strings.FieldsSeq(ring) {
		number, token, ok := strings.Cut(entry, ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || len(s.ring) > 0 && s.ring[len(s.ring)-1].number != n-1 {
			return false
		}
		s.ring = append(s.ring, mark{n, token})
	}
	return len(s.ring) > 0 && s.ring[len(s.ring)-1] == mark{s.Number, s.Token} && s.BlockFirst <= s.Number+1
}
