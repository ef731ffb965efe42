package otel_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/observe/otel"
)

// A ferry for Prometheus: OpenTelemetry's exporter reads the meter provider, and serves what it has.
func Example_prometheus() {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		panic(err)
	}
	cfg := otel.Config{
		Meters:     metric.NewMeterProvider(metric.WithReader(reader)),
		Attributes: []attribute.KeyValue{attribute.String("goferry.name", "words")},
	}
	observer, err := otel.Observer(cfg)
	if err != nil {
		panic(err)
	}
	lanes := ferry.PerKey(ferry.Config{Observer: observer}, func(word string) byte { return word[0] },
		func(_ context.Context, _ byte, words []string) ([]string, error) { return words, nil })
	if _, err := otel.Gauges(cfg, lanes.Stats); err != nil {
		panic(err)
	}
	_, _ = lanes.Submit(context.Background(), "ferry")
	_ = lanes.Close(context.Background())

	scrape := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(scrape, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(scrape.Body.String()) {
		if strings.HasPrefix(line, "goferry_batch_size_") && !strings.Contains(line, "_bucket") || strings.HasPrefix(line, "goferry_queue_size") {
			fmt.Print(line)
		}
	}
	// Output:
	// goferry_batch_size_sum{goferry_name="words"} 1
	// goferry_batch_size_count{goferry_name="words"} 1
	// goferry_queue_size{goferry_name="words"} 0
}
