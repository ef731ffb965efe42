// Package simstore models the store of a simulation: one record, its marker and its view per key, changed only by
// requests that are values. A request can therefore be kept, lost, or applied long after it was sent, which is how
// the sim package plays a network.
//
// # Rules
//
// The zero [Rules] keep every rule that a store owes to FoldWrite and ProjectedWrite. Each field switches one off,
// to show that the simulation notices.
//
// # Shared memory
//
// Records are handed out as they are kept: all readers share one log with spare capacity, so a step that appends
// in place overwrites what another process holds.
//
// A Store is not safe for concurrent use: the simulation applies one request at a time.
package simstore

import (
	"slices"

	"github.com/goferry/goferry/backends"
)

// ID is the identity of an entry, 0 to 63. It prints as a letter.
type ID uint8

// String answers "a" for 0, "b" for 1 and so on.
func (id ID) String() string { return string(rune('a' + id)) }

// Record is what the store keeps for a key.
type Record struct {
	// Version is the fence. Every write of the record advances it.
	Version int
	// Marker is 1 for pending and 0 for not with a [Flag], the number of projected entries with a [Watermark].
	Marker int
	// Log holds the committed entries in their order.
	Log []ID
}

// Marker is how a record says that its view is behind.
type Marker uint8

// The two markers.
const (
	Flag Marker = iota
	Watermark
)

// Pending says whether r, marked by m, has a projection to write.
func (m Marker) Pending(r Record) bool {
	if m == Flag {
		return r.Marker == 1
	}
	return r.Marker < len(r.Log)
}

// cleared is the marker of a record whose view shows all of log.
func (m Marker) cleared(log []ID) int {
	if m == Flag {
		return 0
	}
	return len(log)
}

// Fence is what a conditional write compares with the record it finds.
type Fence uint8

// The fences. The zero value compares everything.
const (
	WholeRecord Fence = iota
	VersionOnly
	MarkerOnly
	NoFence
)

func (f Fence) holds(kept, held Record) bool {
	version := f == MarkerOnly || f == NoFence || kept.Version == held.Version
	marker := f == VersionOnly || f == NoFence || kept.Marker == held.Marker
	return version && marker
}

// Rules are what the store keeps to. The zero value keeps every rule.
type Rules struct {
	// Marker is how records are marked.
	Marker Marker
	// Commit and Project are the fences of the commit and of the projection, the clear of a view of rows included.
	Commit, Project Fence
	// CommitsBump advances the version with commits only, and not with projections and clears.
	CommitsBump bool
	// RewindsMarker makes a commit write back the marker that was read, where the rule is to leave a watermark as it
	// is stored.
	RewindsMarker bool
	// RepeatsRows writes a row although the view has it.
	RepeatsRows bool
}

// Op is an operation of the store.
type Op uint8

// The operations. Look reads record and view at once, as a query would.
const (
	Read Op = iota
	Commit
	Project
	Missing
	Put
	Clear
	Look
	Ops // The number of operations.
)

var opNames = [Ops]string{"read", "commit", "project", "missing", "put", "clear", "look"}

// String answers the name of the operation.
func (o Op) String() string { return opNames[o] }

// Writes says whether the operation changes anything.
func (o Op) Writes() bool { return o == Commit || o == Project || o == Put || o == Clear }

// Request is an operation with its arguments.
type Request struct {
	Op  Op
	Key string
	// Held is the record the request was made for, and what its fence compares.
	Held Record
	// Log is what a commit stores.
	Log []ID
	// Row is the row that a put writes.
	Row ID
}

// Answer is what a request gets.
type Answer struct {
	Record Record
	// Rows are the missing rows, or the view for a look.
	Rows []ID
	Err  error
}

// Cell is everything the store has of a key.
type Cell struct {
	Record Record
	// View is what queries read: the rows, or the entries of the one object.
	View []ID
	// Stored counts the writes of the record that were accepted.
	Stored int
}

// Store keeps cells.
type Store struct {
	rules Rules
	keys  []string
	cells []Cell
}

// New makes a store with nothing under keys.
func New(rules Rules, keys ...string) *Store {
	return &Store{rules: rules, keys: keys, cells: make([]Cell, len(keys))}
}

// Reset empties the store.
func (s *Store) Reset() { clear(s.cells) }

// Keys answers the keys in their order.
func (s *Store) Keys() []string { return s.keys }

// Cell answers what the store has of key. It is the caller's to read only.
func (s *Store) Cell(key string) *Cell { return &s.cells[slices.Index(s.keys, key)] }

// Do applies a request.
func (s *Store) Do(r Request) Answer {
	c := s.Cell(r.Key)
	switch r.Op {
	case Read:
		return Answer{Record: c.Record}
	case Look:
		return Answer{Record: c.Record, Rows: c.View}
	case Missing:
		return Answer{Rows: c.missing(r.Held.Log)}
	case Put:
		return s.put(c, r)
	case Commit:
		return s.commit(c, r)
	}
	return s.project(c, r)
}

func (s *Store) commit(c *Cell, r Request) Answer {
	if !s.rules.Commit.holds(c.Record, r.Held) {
		return conflict(r)
	}
	next := Record{Version: c.Record.Version + 1, Marker: c.Record.Marker}
	switch {
	case s.rules.Marker == Flag:
		next.Marker = 1
	case s.rules.RewindsMarker:
		next.Marker = r.Held.Marker
	}
	// A fresh array with spare room, which every reader will share.
	next.Log = slices.Grow(slices.Clone(r.Log), 4)
	c.Record, c.Stored = next, c.Stored+1
	return Answer{Record: next}
}

// project is the projection of a whole record, and the clear of a view of rows, which leaves the view alone.
func (s *Store) project(c *Cell, r Request) Answer {
	if !s.rules.Project.holds(c.Record, r.Held) {
		return conflict(r)
	}
	switch {
	case r.Op == Clear:
	case s.rules.Marker == Flag:
		c.View = slices.Clone(r.Held.Log)
	default:
		c.View = slices.Concat(c.View, r.Held.Log[min(r.Held.Marker, len(r.Held.Log)):])
	}
	c.Record.Marker = s.rules.Marker.cleared(r.Held.Log)
	if !s.rules.CommitsBump {
		c.Record.Version++
	}
	c.Stored++
	return Answer{}
}

func (s *Store) put(c *Cell, r Request) Answer {
	if s.rules.RepeatsRows || !slices.Contains(c.View, r.Row) {
		c.View = append(slices.Clip(c.View), r.Row)
	}
	return Answer{}
}

func (c *Cell) missing(log []ID) (ids []ID) {
	for _, id := range log {
		if !slices.Contains(c.View, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func conflict(r Request) Answer {
	return Answer{Err: &backends.Error{Op: r.Op.String(), Key: r.Key, Class: backends.ErrConflict}}
}
