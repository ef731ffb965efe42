// Package otel tells OpenTelemetry what a ferry and a sweeper do, in metrics and spans.
//
// [Observer] makes the observer of a ferry, [Gauges] reports its queues and lanes whenever metrics are collected, and
// [Sweeps] counts what a sweeper does. A [Config] says where to:
//
//	cfg := otel.Config{Attributes: []attribute.KeyValue{attribute.String("goferry.name", "orders")}}
//	observer, err := otel.Observer(cfg)
//	lanes := ferry.PerKey(ferry.Config{Observer: observer}, Order.Key, call)
//	gauges, err := otel.Gauges(cfg, lanes.Stats)
//
// For Prometheus, give the meter provider OpenTelemetry's own exporter: see the example.
//
// # Metrics
//
// Times are in seconds. Those of failures carry error.type.
//
//	goferry.batch.size           histogram, {input}   inputs of each call
//	goferry.batch.wait           histogram, s         how long the first input of each call had been waiting
//	goferry.batch.duration       histogram, s         how long each call took that returned
//	goferry.refusals             counter, {input}     inputs refused, by goferry.bound
//	goferry.retries              counter, {retry}     retries in calls, by the error.type of the run that failed
//	goferry.batch.in_flight      sum, {batch}         calls that are out
//	goferry.queue.size           sum, {input}         inputs accepted and not yet handed to a call
//	goferry.queue.weight         sum, 1               their weight
//	goferry.queue.oldest_wait    gauge, s             how long the oldest of them has been queued
//	goferry.queue.waiting        sum, {caller}        callers that wait for room
//	goferry.lane.count           sum, {lane}          keys with something waiting, queued or in flight
//	goferry.sweeper.visits       counter, {visit}     by goferry.sweeper.result: done, pending or failed
//	goferry.sweeper.rounds       counter, {round}     listings of the pending keys
//	goferry.sweeper.pending      gauge, {key}         pending keys in the latest listing that was whole
//	goferry.sweeper.backing_off  gauge, {key}         those of them that it did not visit since they failed lately
//
// What was refused is counted once, by [Observer], and so is not among the [Gauges].
//
// # Spans
//
// A batch is no part of one caller's trace more than of another's: its span, ferry.batch, begins a trace of its own and
// is linked to the span of each caller. It is in the context of the call, so that the store's client puts its spans
// beneath it. A sampler sees the links.
//
// # Privacy
//
// Inputs, outputs and the texts of errors are never reported: a failure is told by its kind, see [Config].Kind. Keys
// are on spans if [Config].Keys says so, and on no metric.
package otel

import (
	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/goferry/goferry/observe/otel"

// Config says where to report to, and what. Its zero value reports to OpenTelemetry's global providers.
type Config struct {
	// Meters and Tracers are where metrics and spans go. Default the global providers.
	Meters  metric.MeterProvider
	Tracers trace.TracerProvider
	// Attributes are those of every metric and span, to tell one ferry of a process from another. Default none.
	Attributes []attribute.KeyValue
	// Keys adds the key to the span of each batch, as goferry.key. Default not.
	Keys bool
	// Kind, if set, names the kind of an error of a store of the user's own, as error.type. There should be few
	// kinds, and no data in them. For "" the kind is that of goferry's errors: panic, goexit, count, timeout,
	// canceled, conflict, refused or unknown, else _OTHER. It may be called by several goroutines at once.
	Kind func(error) string

	_ struct{}
}

func (c Config) meter() metric.Meter {
	if c.Meters == nil {
		return global.Meter(scope)
	}
	return c.Meters.Meter(scope)
}

func (c Config) tracer() trace.Tracer {
	if c.Tracers == nil {
		return global.Tracer(scope)
	}
	return c.Tracers.Tracer(scope)
}

// with is the option of a measurement with the attributes of c and more.
func (c Config) with(more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(more, c.Attributes...)...))
}
