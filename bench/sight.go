package main

import (
	"context"
	"log/slog"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/goferry/goferry/bench/internal/load"
	"github.com/goferry/goferry/bench/internal/report"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/observe/otel"
)

// watched is a ferry's observer by name.
type watched struct {
	name     string
	observer ferry.Observer
}

// observers are what a service may watch a ferry with.
func observers() ([]watched, error) {
	meters := otel.Config{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))}
	traced := func(share float64) otel.Config {
		c := meters
		c.Tracers = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.TraceIDRatioBased(share)))
		return c
	}
	all := []watched{
		{"no observer", ferry.Observer{}},
		{"a hook that does nothing", ferry.Observer{BatchEnded: func(context.Context, ferry.Batch, error) {}}},
		{"log/slog", ferry.LogObserver(slog.New(slog.DiscardHandler))},
	}
	for _, w := range []struct {
		name string
		cfg  otel.Config
	}{
		{"OpenTelemetry, metrics and 1 % of the spans", traced(0.01)},
		{"OpenTelemetry, metrics and all spans", traced(1)},
	} {
		o, err := otel.Observer(w.cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, watched{w.name, o})
	}
	return all, nil
}

// sight measures what it costs to see.
func sight(r *report.Report, s scale) error {
	r.Section("h. Observers",
		"Submit of a lone caller to a store without cost, so that every batch is of one entry, by what watches the ferry. The spans that are sampled are made and\n"+
			"linked to their callers' and go nowhere.")
	all, err := observers()
	if err != nil {
		return err
	}
	ctx := context.Background()
	var submits []micro
	for _, w := range all {
		f := ferry.PerKey(ferry.Config{Observer: w.observer}, func(key string) string { return key },
			func(_ context.Context, _ string, batch []string) ([]string, error) { return batch, nil })
		defer func() { _ = f.Close(ctx) }()
		submits = append(submits, micro{w.name, func() {
			if _, err := f.Submit(ctx, "k"); err != nil {
				panic(err) // Nothing here can fail.
			}
		}})
	}
	got := timeAll(submits, s)
	var rows [][]string
	for i, m := range submits {
		rows = append(rows, []string{
			m.name,
			report.Number(load.Median(got[i], nanoseconds)), report.Times(load.Ratio(got[i], got[0], nanoseconds)),
			report.Number(load.Median(got[i], func(t timing) float64 { return t.allocs })),
		})
	}
	r.Table("**One at a time**", []string{"", "ns", "to no observer", "allocs"}, rows)
	return nil
}
