package sheetstest

import (
	"fmt"
	"slices"
	"time"
)

// nextBookID is the id of the next new book. The mutex is held.
func (s *Server) nextBookID() string { return fmt.Sprintf("spreadsheet-%d", len(s.shelves)+1) }

// publish makes a book the newest version of its spreadsheet. The mutex is
// held.
func (s *Server) publish(b *book) {
	sh := s.shelves[b.id]
	if sh == nil {
		sh = &shelf{}
		s.shelves[b.id] = sh
	}
	sh.versions = append(sh.versions, version{b, time.Now()})
	if len(sh.versions) > maxVersions {
		sh.versions = slices.Clone(sh.versions[1:])
	}
}

// shelf keeps the latest versions of one book, oldest first.
type shelf struct{ versions []version }

type version struct {
	book  *book
	since time.Time
}

const maxVersions = 64

func (s *shelf) newest() *book { return s.versions[len(s.versions)-1].book }

// back returns the version n commits ago, or the oldest one kept.
func (s *shelf) back(n int) *book { return s.versions[max(0, len(s.versions)-1-n)].book }

// view is the book that a read sees, or nil. A fault asks for a staleness; the
// profile may add its own while a commit is fresh.
func (s *Server) view(id string, stale int) *book {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shelves[id]
	if sh == nil {
		return nil
	}
	fresh := 0
	for _, v := range slices.Backward(sh.versions) {
		if fresh == s.traits.staleBy || time.Since(v.since) >= s.traits.staleFor {
			break
		}
		fresh++
	}
	return sh.back(max(stale, fresh))
}

// change is what a write does to a book, with the book that it saw on arrival.
// A change without a book id makes a new book.
type change struct {
	book    string
	arrival *book
	apply   func(*draft) (any, error)
}

// commit applies one change to the newest version, after the late ones.
func (s *Server) commit(c change) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliver(func(late change) bool { return late.book == c.book })
	return s.apply(c)
}

// apply publishes the change, or nothing of it. The mutex is held.
func (s *Server) apply(c change) (any, error) {
	base := s.base(c.book)
	if base == nil {
		return nil, errNotFound
	}
	d := s.draft(base)
	d.arrival = c.arrival
	res, err := c.apply(d)
	if err != nil {
		return nil, err
	}
	s.publish(&d.book)
	return res, nil
}

// base is the book that a change starts from: the newest version, a new book
// for no id, or nil. The mutex is held.
func (s *Server) base(id string) *book {
	if id == "" {
		return &book{id: s.nextBookID()}
	}
	if sh := s.shelves[id]; sh != nil {
		return sh.newest()
	}
	return nil
}

// draft copies a book for writing.
func (s *Server) draft(b *book) *draft {
	d := &draft{
		book: *b, base: b, traits: s.traits, limit: s.maxCells, random: s.random,
		appended: map[int64]int{}, owned: map[*tab]bool{},
	}
	d.tabs = slices.Clone(b.tabs)
	return d
}
