package main

import (
	"encoding/binary"
	"errors"
	"iter"
	"slices"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
)

// id numbers the entries of a writer, from 0: the writer is in the upper half, the number in the lower.
type id uint64

func idOf(writer int, n uint32) id { return id(writer)<<32 | id(n) }

func (i id) writer() int    { return int(i >> 32) }
func (i id) number() uint32 { return uint32(i) }

// entry is an input, and a row of the view.
type entry struct {
	ID   id
	Text [entrySize - 8]byte
}

func (e entry) ident() id { return e.ID }

// recent is how many identities a record keeps to find a replay by: 1 KiB.
const recent = 128

// slots is how many writers a record can have.
const slots = 8

// body is 1 KiB of recent identities and what was written last. It also keeps the books of the writers, each of whom writes
// its entries in order: so the record itself notices one that is missing or comes again.
type body struct {
	Recent        []id
	Next          [slots]uint32 // the number that is due, by writer
	Lost, Doubled uint32
	Last          []entry // those that the view may not have, or, without a view, those of the last write
}

type record = backends.Record[body]

// add is the step. It appends in place, to slices that [probe.latest] handed out without room: the first append of an attempt
// moves them, and then they are the attempt's own.
func add(b body, in entry) (body, id, bool) {
	if slices.Contains(b.Recent, in.ID) {
		return b, in.ID, false
	}
	due, n := &b.Next[in.ID.writer()%slots], in.ID.number()
	if n < *due {
		b.Doubled++
	} else {
		b.Lost += n - *due
	}
	*due = max(*due, n+1)
	b.Recent = append(b.Recent, in.ID)
	b.Recent = b.Recent[max(len(b.Recent)-recent, 0):]
	b.Last = append(b.Last, in)
	return b, in.ID, true
}

// enter is add for records without a view: nothing is ever behind.
func enter(r record, in entry) (record, id, bool) {
	next, out, changed := add(r.Body, in)
	r.Body = next
	return r, out, changed
}

// lines yields the rows that a projection has to write.
func (b body) lines() iter.Seq2[id, entry] {
	return func(yield func(id, entry) bool) {
		for _, e := range b.Last {
			if !yield(e.ID, e) {
				return
			}
		}
	}
}

// Bodies and rows are kept as bytes of a known size: with JSON the figures would be those of encoding/json.
var (
	bodies = codec.Codec[body, []byte]{Encode: encodeBody, Decode: decodeBody}
	rows   = codec.Codec[entry, []byte]{
		Encode: func(e entry) ([]byte, error) { return appendEntry(nil, e), nil },
		Decode: func(stored []byte) (entry, error) {
			if len(stored) != entrySize {
				return entry{}, errSize
			}
			return entryAt(stored), nil
		},
	}
)

const (
	entrySize = 100
	booksSize = 4 * (slots + 3)
)

var errSize = errors.New("stored bytes of another size")

func encodeBody(b body) ([]byte, error) {
	stored := make([]byte, 0, booksSize+8*len(b.Recent)+entrySize*len(b.Last))
	for _, n := range append(b.Next[:], b.Lost, b.Doubled, uint32(len(b.Recent))) {
		stored = binary.BigEndian.AppendUint32(stored, n)
	}
	for _, i := range b.Recent {
		stored = binary.BigEndian.AppendUint64(stored, uint64(i))
	}
	for _, e := range b.Last {
		stored = appendEntry(stored, e)
	}
	return stored, nil
}

func decodeBody(stored []byte) (body, error) {
	if len(stored) < booksSize {
		return body{}, errSize
	}
	var books [slots + 3]uint32
	for i := range books {
		books[i] = binary.BigEndian.Uint32(stored[4*i:])
	}
	b := body{Next: [slots]uint32(books[:slots]), Lost: books[slots], Doubled: books[slots+1]}
	ids, entries := int(books[slots+2]), stored[booksSize:]
	if left := len(entries) - 8*ids; left < 0 || left%entrySize != 0 {
		return body{}, errSize
	}
	b.Recent = make([]id, ids)
	for i := range b.Recent {
		b.Recent[i] = id(binary.BigEndian.Uint64(entries))
		entries = entries[8:]
	}
	b.Last = make([]entry, 0, len(entries)/entrySize)
	for e := range slices.Chunk(entries, entrySize) {
		b.Last = append(b.Last, entryAt(e))
	}
	return b, nil
}

func appendEntry(stored []byte, e entry) []byte {
	return append(binary.BigEndian.AppendUint64(stored, uint64(e.ID)), e.Text[:]...)
}

func entryAt(stored []byte) entry {
	return entry{ID: id(binary.BigEndian.Uint64(stored)), Text: [entrySize - 8]byte(stored[8:])}
}
