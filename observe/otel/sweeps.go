package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"github.com/goferry/goferry/projected"
)

// Sweeps reports the visits and rounds of s, through its OnVisit and OnRound: those that it has are called as well,
// those that are set later replace these. Call it before [projected.Sweeper.Run].
func Sweeps[K, ID comparable](cfg Config, s *projected.Sweeper[K, ID]) error {
	i := instruments{meter: cfg.meter()}
	visits := i.counter("goferry.sweeper.visits", "{visit}", "Visits of pending keys, by their result.")
	rounds := i.counter("goferry.sweeper.rounds", "{round}", "Listings of the pending keys.")
	pending := i.gauge("goferry.sweeper.pending", "{key}", "Pending keys in the latest listing that was whole.")
	backingOff := i.gauge("goferry.sweeper.backing_off", "{key}", "Pending keys that were not visited since they failed lately.")
	if err := i.err(); err != nil {
		return err
	}
	plain := cfg.with()
	onVisit, onRound := s.OnVisit, s.OnRound
	s.OnVisit = func(key K, left projected.Projection[ID], err error) {
		visits.Add(context.Background(), 1, cfg.with(cfg.result(len(left), err)...))
		if onVisit != nil {
			onVisit(key, left, err)
		}
	}
	s.OnRound = func(round projected.Round, err error) {
		if err != nil {
			rounds.Add(context.Background(), 1, cfg.with(cfg.errorType(err)))
		} else {
			rounds.Add(context.Background(), 1, plain)
			pending.Record(context.Background(), int64(round.Listed), plain)
			backingOff.Record(context.Background(), int64(round.BackingOff), plain)
		}
		if onRound != nil {
			onRound(round, err)
		}
	}
	return nil
}

// result is that of a visit.
func (c Config) result(left int, err error) []attribute.KeyValue {
	const name = attribute.Key("goferry.sweeper.result")
	switch {
	case err != nil:
		return []attribute.KeyValue{name.String("failed"), c.errorType(err)}
	case left > 0:
		return []attribute.KeyValue{name.String("pending")}
	}
	return []attribute.KeyValue{name.String("done")}
}
