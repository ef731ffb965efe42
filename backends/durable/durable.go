// Package durable makes the stores of a database out of an [Engine], which keeps texts and bytes.
//
// [Store] has a view of one object per record, [RowStore] a view of one row per entry. They keep the whole contract
// of the backends package over any engine that keeps its own, and they are the same types for every database: a
// pipeline written for one runs on the others. The packages of the databases make them.
//
// # Encoding
//
// Keys are strings as they are and integers in decimal; bodies, views and rows are JSON. The With methods answer a
// store that encodes otherwise; see the codec package for what is refused. Nothing that cannot be encoded reaches the
// engine. What this build cannot decode is a [backends.ErrUndecodable] that names the key: it is left as it is, and
// the other keys go on.
//
// A record is read and written whole: keep it small.
//
// # User functions
//
// The function of the view, those of the rows and the codecs run on the caller's goroutine, before anything is sent. A
// panic of theirs is the caller's, and nothing is written.
package durable

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/backends/codec"
)

// StoredRecord is a record as an engine keeps it. Its fence is 0 for a key that the engine does not hold.
type StoredRecord struct {
	Fence  backends.Fence
	Behind bool
	Body   []byte
}

// StoredRow is a row as an engine keeps it.
type StoredRow struct {
	ID   string
	Body []byte
}

// Engine is a database. Its methods may be called by any number of goroutines, and return soon after their context
// ends. Bodies are never nil.
//
// Errors should be [*backends.Error]s, of which only the class and the cause count. Any other error is an unknown
// outcome.
type Engine interface {
	// Read answers the record of key. It sees every write that was answered before it began.
	Read(ctx context.Context, key string) (StoredRecord, error)

	// Commit stores the body and the marker of next if the record of key has this fence, and answers both with the new
	// fence. A record that is behind stays so.
	Commit(ctx context.Context, key string, fence backends.Fence, next StoredRecord) (StoredRecord, error)

	// Settle clears the marker if the record of key has this fence, which is not 0. In the same transaction it stores
	// view, unless it is nil, and rows, those that are not there.
	Settle(ctx context.Context, key string, fence backends.Fence, view []byte, rows []StoredRow) error

	// Put stores rows, those that are not there: all, or none if it fails.
	Put(ctx context.Context, key string, rows []StoredRow) error

	// Delete removes the record of key, its view and its rows, if the record has this fence, which is not 0.
	Delete(ctx context.Context, key string, fence backends.Fence) error

	// View answers the view of key, nil if there is none.
	View(ctx context.Context, key string) ([]byte, error)

	// Present answers which of ids key has a row of, in any order.
	Present(ctx context.Context, key string, ids []string) ([]string, error)

	// Rows answers the rows of key in the order of their first insertion.
	Rows(ctx context.Context, key string) ([][]byte, error)

	// List answers some keys, in an order of the engine's, beginning with the first that is not before from, and
	// where to go on: "" after the last. With behind it answers only keys whose record is behind.
	List(ctx context.Context, behind bool, from string) (keys []string, next string, err error)
}

// table is the records of a store: all of it but the view.
type table[K comparable, B any] struct {
	engine Engine
	keys   codec.Codec[K, string]
	bodies codec.Codec[B, []byte]
}

func newTable[K comparable, B any](engine Engine) table[K, B] {
	return table[K, B]{engine: engine, keys: codec.Checked(codec.Text[K]()), bodies: codec.JSON[B]()}
}

// Read answers the record of key, the zero record if there is none.
func (t *table[K, B]) Read(ctx context.Context, key K) (record backends.Record[B], err error) {
	text, err := t.begin(ctx, "read", key)
	if err != nil {
		return record, err
	}
	stored, err := t.engine.Read(ctx, text)
	if err != nil || stored.Fence == 0 {
		return record, failure(ctx, "read", key, err)
	}
	body, err := t.bodies.Decode(stored.Body)
	if err != nil {
		return record, undecodable("read", key, err)
	}
	return backends.Record[B]{Body: body, Fence: stored.Fence, Behind: stored.Behind}, nil
}

// Commit stores next's body if the store still holds the record that was read, and answers the record as stored,
// with a new fence. It is behind if next is, or if the record that was read is: a commit clears no marker.
func (t *table[K, B]) Commit(ctx context.Context, key K, read, next backends.Record[B]) (backends.Record[B], error) {
	var none backends.Record[B]
	text, err := t.begin(ctx, "commit", key)
	if err != nil {
		return none, err
	}
	body, err := blob(t.bodies, next.Body)
	if err != nil {
		return none, refused("commit", key, err)
	}
	stored, err := t.engine.Commit(ctx, text, read.Fence, StoredRecord{Behind: next.Behind, Body: body})
	if err != nil {
		return none, failure(ctx, "commit", key, err)
	}
	return backends.Record[B]{Body: next.Body, Fence: stored.Fence, Behind: stored.Behind}, nil
}

// PendingKeys lists the keys whose record is behind, page by page. It holds nothing of the database while it yields.
func (t *table[K, B]) PendingKeys(ctx context.Context) iter.Seq2[K, error] { return t.list(ctx, true) }

// Keys lists the keys that the store holds, page by page. It holds nothing of the database while it yields.
func (t *table[K, B]) Keys(ctx context.Context) iter.Seq2[K, error] { return t.list(ctx, false) }

// list yields an error for a key that it cannot decode and goes on. A page that it cannot read is the last.
func (t *table[K, B]) list(ctx context.Context, behind bool) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		var none K
		for from, first := "", true; first || from != ""; first = false {
			err := backends.Ended(ctx, "list", nil)
			var texts []string
			if err == nil {
				texts, from, err = t.engine.List(ctx, behind, from)
			}
			if err != nil {
				yield(none, failure(ctx, "list", nil, err))
				return
			}
			for _, text := range texts {
				key, err := t.keys.Decode(text)
				if err != nil {
					key, err = none, undecodable("list", text, err)
				}
				if !yield(key, err) {
					return
				}
			}
		}
	}
}

// Delete removes the record of key and its view, in one transaction, if the store still holds the record that was read.
// There must be one: the zero record is a conflict. Rows that a projection of the record puts afterwards stay.
func (t *table[K, B]) Delete(ctx context.Context, key K, read backends.Record[B]) error {
	return t.fenced(ctx, "delete", key, read.Fence, func(text string) error {
		return t.engine.Delete(ctx, text, read.Fence)
	})
}

// fenced is a write to a record that exists: fence 0 stands for a key that the store does not hold.
func (t *table[K, B]) fenced(ctx context.Context, op string, key K, fence backends.Fence, write func(text string) error) error {
	text, err := t.begin(ctx, op, key)
	if err != nil {
		return err
	}
	if fence == 0 {
		return &backends.Error{Op: op, Key: key, Class: backends.ErrConflict}
	}
	return failure(ctx, op, key, write(text))
}

// begin answers the text of key, unless ctx has ended.
func (t *table[K, B]) begin(ctx context.Context, op string, key K) (string, error) {
	if err := backends.Ended(ctx, op, key); err != nil {
		return "", err
	}
	text, err := t.keys.Encode(key)
	if err != nil {
		return "", refused(op, key, err)
	}
	return text, nil
}

// failure is an engine's error under the name of the operation. An ended context explains what is not definite.
func failure(ctx context.Context, op string, key any, err error) error {
	if err == nil {
		return nil
	}
	e := &backends.Error{Op: op, Key: key, Class: backends.ErrUnknown, Err: err}
	if known, ok := errors.AsType[*backends.Error](err); ok {
		e.Class, e.Err = known.Class, known.Err
	}
	if ended := backends.Ended(ctx, op, key); ended != nil && e.Class == backends.ErrUnknown {
		return ended
	}
	return e
}

// refused is the error of an operation that never reached the engine.
func refused(op string, key any, err error) error {
	return &backends.Error{Op: op, Key: key, Class: backends.ErrRefused, Err: err}
}

// undecodable is the error of what is stored and means nothing to this build.
func undecodable(op string, key any, err error) error {
	return refused(op, key, fmt.Errorf("%w: %w", backends.ErrUndecodable, err))
}

// blob encodes a body. A codec may answer nil for an empty one, which engines take for none.
func blob[T any](c codec.Codec[T, []byte], v T) ([]byte, error) {
	b, err := c.Encode(v)
	if b == nil {
		b = []byte{}
	}
	return b, err
}
