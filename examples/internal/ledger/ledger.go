// Package ledger is what the examples write: entries of accounts. An account's log is its record, and its view
// is a statement of the whole account, or one row per entry.
package ledger

import (
	"fmt"
	"iter"
	"slices"
)

// Entry is one booking, and also its row in a view of rows.
type Entry struct {
	ID      string `json:"id"`
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

// Ident is the identity of an entry: an entry is booked once, however often it is submitted.
func (e Entry) Ident() string { return e.ID }

// Key is what is written one batch at a time.
func (e Entry) Key() string { return e.Account }

// Log is an account, entry by entry.
type Log struct {
	Entries []Entry `json:"entries"`
}

// Answer is what a caller is told of an entry.
type Answer struct {
	Position int  // in the log
	Replay   bool // it had been booked before
}

// Append books an entry, and answers one that is already booked without booking it again.
func Append(log Log, in Entry) (Log, Answer, bool) {
	at := slices.IndexFunc(log.Entries, func(e Entry) bool { return e.ID == in.ID })
	if at >= 0 {
		return log, Answer{at, true}, false
	}
	// Clipped, since records may share memory: append must not write into what others read.
	return Log{append(slices.Clip(log.Entries), in)}, Answer{len(log.Entries), false}, true
}

// Statement is the view of a whole account.
type Statement struct {
	IDs   []string `json:"ids"`
	Cents int64    `json:"cents"`
}

// State makes the statement of an account.
func (l Log) State() Statement {
	var s Statement
	for _, e := range l.Entries {
		s.IDs = append(s.IDs, e.ID)
		s.Cents += e.Cents
	}
	return s
}

// Rows yields the rows of an account by their identities.
func (l Log) Rows() iter.Seq2[string, Entry] {
	return func(yield func(string, Entry) bool) {
		for _, e := range l.Entries {
			if !yield(e.ID, e) {
				return
			}
		}
	}
}

// Check says what is wrong with an account's view, given the IDs it shows in any order.
func (l Log) Check(shown []string) error {
	times := map[string]int{}
	for _, id := range shown {
		times[id]++
	}
	for _, e := range l.Entries {
		if times[e.ID] != 1 {
			return fmt.Errorf("entry %s is in the view %d times", e.ID, times[e.ID])
		}
		delete(times, e.ID)
	}
	for id := range times {
		return fmt.Errorf("entry %s is in the view, but not in the log", id)
	}
	return nil
}
