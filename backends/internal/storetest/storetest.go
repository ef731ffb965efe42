// Package storetest runs the store contract against a store: every test of a durable backend that does not depend on
// what the backend is.
//
// The records are logs of entries, and the view shows the entries of the log. Both kinds of view are a [Subject], so
// each check is written once.
package storetest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// Entry is an input, an entry of a log, and a row.
type Entry struct {
	ID string
	N  int
}

// Ident is the identity of an entry.
func (e Entry) Ident() string { return e.ID }

// Log is the body of a record.
type Log struct{ Entries []Entry }

// Record is the record of a log.
type Record = backends.Record[Log]

// Of yields the rows of a log.
func Of(log Log) iter.Seq2[string, Entry] {
	return func(yield func(string, Entry) bool) {
		for _, e := range log.Entries {
			if !yield(e.ID, e) {
				return
			}
		}
	}
}

// Show makes the view of a log: one object.
func Show(log Log) []Entry { return log.Entries }

// With answers log with e, and how many entries it has then. An entry that it holds is not added again.
func With(log Log, e Entry) (next Log, position int, changed bool) {
	if i := slices.IndexFunc(log.Entries, func(held Entry) bool { return held.ID == e.ID }); i >= 0 {
		return log, i + 1, false
	}
	return Log{Entries: append(slices.Clip(log.Entries), e)}, len(log.Entries) + 1, true
}

// Common is what both kinds of store have.
type Common interface {
	backends.Store[string, Log]
	Keys(ctx context.Context) iter.Seq2[string, error]
	Delete(ctx context.Context, key string, read Record) error
}

// Views is a store with a view of one object per record, made with [Show].
type Views interface {
	Common
	backends.ViewStore[string, Log]
	View(ctx context.Context, key string) ([]Entry, bool, error)
}

// Rows is a store with a view of one row per entry, made with [Of] and [Entry.Ident].
type Rows interface {
	Common
	backends.RowStore[string, Log, string, Entry]
	Rows(ctx context.Context, key string) ([]Entry, error)
}

// Project is a project function as projected.New takes it.
type Project[R any] = func(R, context.Context, string, Record) (projected.Projection[string], error)

// Subject is a store under test, whatever its view is. Its calls end within [Patience].
type Subject struct {
	Common
	// Project brings the view up to date and clears the marker.
	Project func(ctx context.Context, key string, record Record) (projected.Projection[string], error)
	// Shown answers the entries that the view of key shows.
	Shown func(ctx context.Context, key string) ([]Entry, error)
}

// OfViews is a subject with a view of one object per record.
func OfViews(s Views) Subject {
	return patient(Subject{
		Common: s,
		Project: func(ctx context.Context, key string, record Record) (projected.Projection[string], error) {
			return nil, s.Project(ctx, key, record)
		},
		Shown: func(ctx context.Context, key string) ([]Entry, error) {
			view, _, err := s.View(ctx, key)
			return view, err
		},
	})
}

// OfRows is a subject with a view of one row per entry, projected row by row as projected.Rows does it.
func OfRows(s Rows) Subject {
	return OfRowsBy(s, projected.Rows(
		func(r Record) iter.Seq2[string, Entry] { return Of(r.Body) }, Rows.Missing, Rows.Put, Rows.Clear))
}

// OfRowsBy is OfRows with another project function.
func OfRowsBy[R Rows](s R, project Project[R]) Subject {
	return patient(Subject{
		Common: s,
		Project: func(ctx context.Context, key string, record Record) (projected.Projection[string], error) {
			return project(s, ctx, key, record)
		},
		Shown: s.Rows,
	})
}

// Pipeline is commit and projection on a subject: it adds entries to logs.
func Pipeline(s Subject, retry schedule.Schedule) projected.Provided[*backends.Error, string, Entry, string, int] {
	return projected.New(
		fold.New[*backends.Error](Entry.Ident, Subject.Read, backends.Step(With), Subject.Commit, retry),
		Record.Pending,
		func(s Subject, ctx context.Context, key string, record Record) (projected.Projection[string], error) {
			return s.Project(ctx, key, record)
		},
	).Provide(s)
}

func entries(log Log, more ...Entry) Record {
	return Record{Body: Log{Entries: append(slices.Clip(log.Entries), more...)}, Behind: true}
}

// add commits one more entry to the record that was read.
func add(t *testing.T, s Subject, key string, read Record, e Entry) Record {
	t.Helper()
	stored, err := s.Commit(t.Context(), key, read, entries(read.Body, e))
	if err != nil {
		t.Fatalf("commit: got %v, want success", err)
	}
	return stored
}

func read(t *testing.T, s Subject, key string) Record {
	t.Helper()
	record, err := s.Read(t.Context(), key)
	if err != nil {
		t.Fatalf("read: got %v, want success", err)
	}
	return record
}

func mustProject(t *testing.T, s Subject, key string, record Record) {
	t.Helper()
	if left, err := s.Project(t.Context(), key, record); err != nil || len(left) > 0 {
		t.Fatalf("project: got %v, %v, want nothing left", left, err)
	}
}

func wantShown(t *testing.T, s Subject, key string, want ...Entry) {
	t.Helper()
	got, err := s.Shown(t.Context(), key)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("view of %s: got %v, %v, want %v", key, got, err, want)
	}
}

// wantClass checks that err is a backends.Error of exactly one class.
func wantClass(t *testing.T, err, class error) {
	t.Helper()
	if _, ok := errors.AsType[*backends.Error](err); !ok {
		t.Errorf("got %T %v, want a *backends.Error", err, err)
	}
	for _, c := range []error{backends.ErrConflict, backends.ErrRefused, backends.ErrUnknown} {
		if got, want := errors.Is(err, c), c == class; got != want {
			t.Errorf("%v is of class %q: got %v, want %v", err, c, got, want)
		}
	}
}

func collect(t *testing.T, keys iter.Seq2[string, error]) []string {
	t.Helper()
	var all []string
	for key, err := range keys {
		if err != nil {
			t.Fatalf("listing: got %v, want keys", err)
		}
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

func isPending(t *testing.T, s Subject, key string) bool {
	t.Helper()
	return slices.Contains(collect(t, s.PendingKeys(t.Context())), key)
}
