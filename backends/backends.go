// Package backends is the contract of stores that FoldWrite and ProjectedWrite write through.
//
// A store keeps one [Record] per key and takes conditional writes to it. Three interfaces say what it offers:
// [Store] commits, [ViewStore] adds a view of one object per record, [RowStore] a view of one row per entry. Their
// method expressions are the functions that fold.New, projected.New and projected.Rows ask for, so a pipeline
// is written once against an interface and given any store:
//
//	type Store = backends.ViewStore[string, Account]
//
//	var write = projected.WholeRecord(
//		fold.New[*backends.Error](Entry.Ident, Store.Read, backends.Step(apply), Store.Commit, retry),
//		backends.Record[Account].Pending,
//		Store.Project,
//	)
//
// # Fences
//
// Every write that a store accepts gives the record a new fence, those that only touch the marker included, and so
// does a key that is created again after it was deleted: a fence never comes back. One comparison therefore
// covers body and marker together.
//
// # Answers
//
// A write has three answers: it happened, it did not ([ErrConflict], [ErrRefused]), or [ErrUnknown]: it may have,
// and may still. A store that cannot tell says unknown. A context that ended while a write was out is unknown.
//
// # Records
//
// The zero Record stands for a key that the store does not hold, and is not pending. Records that a store hands out
// may share memory, spare capacity included: a step makes new slices and maps and never appends in place.
// A record that this build cannot decode is an [ErrUndecodable] naming its key; it is left as it is, and the other
// keys go on.
package backends

import (
	"context"
	"iter"
)

// Fence is what a conditional write compares: an opaque token, new with every write of a record. 0 is the fence of
// a key that the store does not hold.
type Fence uint64

// Record is what a store keeps for one key.
type Record[B any] struct {
	// Body is the user's part: the entries, or whatever implies their identities and yields the view.
	Body B
	// Fence is the store's. Steps leave it alone.
	Fence Fence
	// Behind is the marker: the view does not yet show the body. A commit of a changed body sets it, and only a
	// projection clears it.
	Behind bool
}

// Pending says that the record's view is behind.
func (r Record[B]) Pending() bool { return r.Behind }

// Step makes the step of a fold on bodies the step of a fold on records: a change marks the view as behind.
func Step[B, I, O any](step func(body B, in I) (next B, out O, changed bool)) func(Record[B], I) (Record[B], O, bool) {
	return func(record Record[B], in I) (Record[B], O, bool) {
		next, out, changed := step(record.Body, in)
		if changed {
			record.Body, record.Behind = next, true
		}
		return record, out, changed
	}
}

// RowsOf makes a function that yields the rows of a body one that yields the rows of a record, as projected.Rows asks.
func RowsOf[B any, ID comparable, Row any](of func(B) iter.Seq2[ID, Row]) func(Record[B]) iter.Seq2[ID, Row] {
	return func(record Record[B]) iter.Seq2[ID, Row] { return of(record.Body) }
}

// Store keeps records. Its methods may be called by any number of goroutines, and those of durable stores by any
// number of processes. They return soon after their context ends. Their errors are [*Error]s.
type Store[K comparable, B any] interface {
	// Read answers the record of key, the zero record if there is none. It sees every write that was answered
	// before it began.
	Read(ctx context.Context, key K) (Record[B], error)

	// Commit stores next's body and marker if the store still holds the record that was read, and answers
	// the record as stored, with its new fence. It never clears the marker of a record that is behind.
	Commit(ctx context.Context, key K, read, next Record[B]) (Record[B], error)

	// PendingKeys lists the keys whose record is behind: all that were before the call and still are, in no
	// order that a caller may rely on. It yields an error for what it could not list.
	PendingKeys(ctx context.Context) iter.Seq2[K, error]
}

// ViewStore is a Store with a view of one object per record.
type ViewStore[K comparable, B any] interface {
	Store[K, B]

	// Project writes the view of record and clears its marker, in one write, if the store still holds record,
	// and answers [ErrConflict] otherwise.
	Project(ctx context.Context, key K, record Record[B]) error
}

// RowStore is a Store with a view of one row per entry.
type RowStore[K comparable, B any, ID comparable, Row any] interface {
	Store[K, B]

	// Missing answers which entries of record have no row in the view.
	Missing(ctx context.Context, key K, record Record[B]) ([]ID, error)

	// Put writes each of rows unless the view has a row of its identity already, which is a success. It answers
	// one error per row, in order.
	Put(ctx context.Context, key K, rows []Row) []error

	// Clear clears the marker of record if the store still holds record, and answers [ErrConflict] otherwise.
	Clear(ctx context.Context, key K, record Record[B]) error
}
