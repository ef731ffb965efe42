package projected

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// CountError is the defect of a put that answered another number of errors than it was given rows. Nothing is
// known of those rows then, so the marker is not cleared.
type CountError struct {
	Key       any
	Got, Want int
}

// Error names the key and both numbers.
func (e *CountError) Error() string {
	return fmt.Sprintf("projected: put %v: %d answers for %d rows", e.Key, e.Got, e.Want)
}

// Rows makes the project function of a view of one row per entry, with the three rules of such a view built in: rows
// that are present are not written again, the marker is cleared only when every row is present, and the clear is
// fenced.
//
//   - of yields the entries of a record with their rows, in the order in which they are written. An entry
//     that needs no row is not yielded. A row is a function of its committed entry alone.
//   - missing answers which entries of the record have no row in the view.
//   - put writes the rows that are given, each only if it is absent, and answers one error per row, in order.
//     A row that is already there is a success.
//   - clear clears the marker only if the store still holds record, its fence and its marker.
//
// Every missing row is tried, whatever became of those before it; those that failed are listed with their
// errors. All rows go to one put: see [RowsChunked] for stores with a limit.
func Rows[R any, K comparable, S any, ID comparable, Row any](
	of func(S) iter.Seq2[ID, Row],
	missing func(R, context.Context, K, S) ([]ID, error),
	put func(R, context.Context, K, []Row) []error,
	clear func(R, context.Context, K, S) error,
) func(R, context.Context, K, S) (Projection[ID], error) {
	return rows(0, of, missing, put, clear)
}

// RowsChunked is [Rows] with at most size rows to a put. size must be positive. Rows that are not reached before the
// context ends are listed with its error.
func RowsChunked[R any, K comparable, S any, ID comparable, Row any](
	size int,
	of func(S) iter.Seq2[ID, Row],
	missing func(R, context.Context, K, S) ([]ID, error),
	put func(R, context.Context, K, []Row) []error,
	clear func(R, context.Context, K, S) error,
) func(R, context.Context, K, S) (Projection[ID], error) {
	if size <= 0 {
		panic("projected: RowsChunked: size is not positive")
	}
	return rows(size, of, missing, put, clear)
}

func rows[R any, K comparable, S any, ID comparable, Row any](
	size int,
	of func(S) iter.Seq2[ID, Row],
	missing func(R, context.Context, K, S) ([]ID, error),
	put func(R, context.Context, K, []Row) []error,
	clear func(R, context.Context, K, S) error,
) func(R, context.Context, K, S) (Projection[ID], error) {
	switch {
	case of == nil:
		panic("projected: Rows: of is nil")
	case missing == nil:
		panic("projected: Rows: missing is nil")
	case put == nil:
		panic("projected: Rows: put is nil")
	case clear == nil:
		panic("projected: Rows: clear is nil")
	}
	return func(env R, ctx context.Context, key K, record S) (Projection[ID], error) {
		absent, err := missing(env, ctx, key, record)
		if err != nil {
			return nil, err
		}
		ids, rows := pick(of(record), absent)
		left, err := putAll(ctx, key, ids, rows, size, func(rows []Row) []error { return put(env, ctx, key, rows) })
		if err != nil || len(left) > 0 {
			return left, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, clear(env, ctx, key, record)
	}
}

// pick answers the entries whose row is absent, in the record's order.
func pick[ID comparable, Row any](all iter.Seq2[ID, Row], absent []ID) (ids []ID, rows []Row) {
	if len(absent) == 0 {
		return nil, nil
	}
	isAbsent := make(map[ID]bool, len(absent))
	for _, id := range absent {
		isAbsent[id] = true
	}
	for id, row := range all {
		if isAbsent[id] {
			ids, rows = append(ids, id), append(rows, row)
		}
	}
	return ids, rows
}

// putAll writes the rows chunk by chunk and lists those that failed or were not reached.
func putAll[K, ID comparable, Row any](ctx context.Context, key K, ids []ID, rows []Row, size int, put func([]Row) []error) (Projection[ID], error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if size == 0 {
		size = len(rows)
	}
	var errs []error
	for chunk := range slices.Chunk(rows, size) {
		if err := ctx.Err(); err != nil {
			errs = append(errs, slices.Repeat([]error{err}, len(rows)-len(errs))...)
			break
		}
		got := put(chunk)
		if len(got) != len(chunk) {
			return nil, &CountError{Key: key, Got: len(got), Want: len(chunk)}
		}
		errs = append(errs, got...)
	}
	left := Projection[ID]{}
	for i, err := range errs {
		if err != nil {
			left[ids[i]] = err
		}
	}
	return left, nil
}
