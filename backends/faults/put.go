package faults

import (
	"context"
	"slices"
)

// Put takes all its rows there and back together: the latency is that of the first row.
func (s rowStore[K, B, ID, Row]) Put(ctx context.Context, key K, rows []Row) []error {
	if len(rows) == 0 {
		return s.inner.Put(ctx, key, rows)
	}
	fates := make([]fate, len(rows))
	for i := range rows {
		fates[i] = s.f.begin(Put, key)
	}
	if err := fates[0].goThere(ctx); err != nil {
		return slices.Repeat([]error{err}, len(rows))
	}
	errs := s.send(ctx, key, rows, fates)
	if err := fates[0].goBack(ctx); err != nil {
		return slices.Repeat([]error{err}, len(rows))
	}
	return errs
}

// send puts the rows that arrive, postpones those that are late, and answers for all.
func (s rowStore[K, B, ID, Row]) send(ctx context.Context, key K, rows []Row, fates []fate) []error {
	errs := make([]error, len(rows))
	var sent []Row
	var at []int
	for i, t := range fates {
		errs[i] = t.err()
		switch {
		case t.arrives():
			sent, at = append(sent, rows[i]), append(at, i)
		case t.fault == ErrLate:
			row := []Row{rows[i]}
			s.f.postpone(t, func() { s.inner.Put(context.WithoutCancel(ctx), key, row) })
		}
	}
	if len(sent) == 0 {
		return errs
	}
	answers := s.inner.Put(ctx, key, sent)
	if len(answers) != len(sent) {
		return nil // A wrong count as well: the caller is to see the store's defect.
	}
	for n, i := range at {
		if fates[i].fault == nil {
			errs[i] = answers[n]
		}
	}
	return errs
}
