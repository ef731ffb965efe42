package otel

import (
	"context"

	"go.opentelemetry.io/otel/metric"

	"github.com/goferry/goferry/ferry"
)

// Gauges reports the queues and lanes of a ferry whenever metrics are collected; stats is its [ferry.Ferry.Stats].
// Unregister the registration to end it.
func Gauges[K comparable](cfg Config, stats func() ferry.Stats[K]) (metric.Registration, error) {
	i := instruments{meter: cfg.meter()}
	lanes := i.sum("goferry.lane.count", "{lane}", "Keys with something waiting, queued or in flight.")
	waiting := i.sum("goferry.queue.waiting", "{caller}", "Callers that wait for room.")
	size := i.sum("goferry.queue.size", "{input}", "Inputs accepted and not yet handed to a call.")
	weight := i.sum("goferry.queue.weight", "1", "Weight of the inputs accepted and not yet handed to a call.")
	inFlight := i.sum("goferry.batch.in_flight", "{batch}", "Calls that are out.")
	oldest := i.oldest("goferry.queue.oldest_wait", "How long the oldest input has been queued.")
	if err := i.err(); err != nil {
		return nil, err
	}
	attributes := cfg.with()
	return i.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := stats()
		o.ObserveInt64(lanes, int64(s.Lanes), attributes)
		o.ObserveInt64(waiting, int64(s.Waiting), attributes)
		o.ObserveInt64(size, int64(s.Queued), attributes)
		o.ObserveInt64(weight, int64(s.QueuedWeight), attributes)
		o.ObserveInt64(inFlight, int64(s.InFlight), attributes)
		o.ObserveFloat64(oldest, s.OldestWait.Seconds(), attributes)
		return nil
	}, lanes, waiting, size, weight, inFlight, oldest)
}
