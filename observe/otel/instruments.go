package otel

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// instruments makes instruments, and keeps the errors until all are made.
type instruments struct {
	meter metric.Meter
	errs  []error
}

func (i *instruments) counter(name, unit, what string) metric.Int64Counter {
	c, err := i.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
	i.errs = append(i.errs, err)
	return c
}

func (i *instruments) gauge(name, unit, what string) metric.Int64Gauge {
	g, err := i.meter.Int64Gauge(name, metric.WithUnit(unit), metric.WithDescription(what))
	i.errs = append(i.errs, err)
	return g
}

// sizes is a histogram of numbers of inputs.
func (i *instruments) sizes(name, what string) metric.Int64Histogram {
	h, err := i.meter.Int64Histogram(name, metric.WithUnit("{input}"), metric.WithDescription(what),
		metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024))
	i.errs = append(i.errs, err)
	return h
}

// seconds is a histogram that serves a store in memory as well as one that takes half a minute.
func (i *instruments) seconds(name, what string) metric.Float64Histogram {
	h, err := i.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what),
		metric.WithExplicitBucketBoundaries(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30))
	i.errs = append(i.errs, err)
	return h
}

// sum is polled. Unlike a gauge it makes sense added up over processes.
func (i *instruments) sum(name, unit, what string) metric.Int64ObservableUpDownCounter {
	s, err := i.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
	i.errs = append(i.errs, err)
	return s
}

// oldest is polled, too.
func (i *instruments) oldest(name, what string) metric.Float64ObservableGauge {
	g, err := i.meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(what))
	i.errs = append(i.errs, err)
	return g
}

func (i *instruments) err() error {
	if err := errors.Join(i.errs...); err != nil {
		return fmt.Errorf("otel: %w", err)
	}
	return nil
}
