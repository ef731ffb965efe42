package otel_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/goferry/goferry/backends"
	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/fold"
	"github.com/goferry/goferry/observe/otel"
	"github.com/goferry/goferry/projected"
	"github.com/goferry/goferry/schedule"
)

// listener is what OpenTelemetry is told.
type listener struct {
	reader *sdkmetric.ManualReader
	spans  *tracetest.SpanRecorder
	tracer trace.Tracer
	otel.Config
}

func listen() *listener {
	l := &listener{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	l.Meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(l.reader))
	l.Tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(l.spans))
	l.tracer = l.Tracers.Tracer("callers")
	return l
}

func (l *listener) observer(t *testing.T) ferry.Observer {
	t.Helper()
	o, err := otel.Observer(l.Config)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// collect answers the metrics by their names.
func (l *listener) collect(t *testing.T) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := l.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	metrics := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			metrics[m.Name] = m
		}
	}
	return metrics
}

// want checks the points of metrics, as in "goferry.retries{error.type=refused}": "2". A histogram is its sum and count.
func (l *listener) want(t *testing.T, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name, m := range l.collect(t) {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			numbers(got, name, data.DataPoints)
		case metricdata.Gauge[int64]:
			numbers(got, name, data.DataPoints)
		case metricdata.Gauge[float64]:
			numbers(got, name, data.DataPoints)
		case metricdata.Histogram[int64]:
			histograms(got, name, data.DataPoints)
		case metricdata.Histogram[float64]:
			histograms(got, name, data.DataPoints)
		}
	}
	for point, value := range want {
		if got[point] != value {
			t.Errorf("%s: got %q, want %q, in %v", point, got[point], value, got)
		}
	}
}

func numbers[N int64 | float64](got map[string]string, name string, points []metricdata.DataPoint[N]) {
	for _, p := range points {
		got[name+labels(p.Attributes)] = fmt.Sprint(p.Value)
	}
}

func histograms[N int64 | float64](got map[string]string, name string, points []metricdata.HistogramDataPoint[N]) {
	for _, p := range points {
		got[name+labels(p.Attributes)] = fmt.Sprintf("%v in %d", p.Sum, p.Count)
	}
}

func labels(set attribute.Set) string {
	if set.Len() == 0 {
		return ""
	}
	return "{" + set.Encoded(attribute.DefaultEncoder()) + "}"
}

// span answers the only span of a batch.
func (l *listener) span(t *testing.T) sdktrace.ReadOnlySpan {
	t.Helper()
	var found []sdktrace.ReadOnlySpan
	for _, s := range l.spans.Ended() {
		if s.Name() == "ferry.batch" {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("spans of batches: got %d, want 1", len(found))
	}
	return found[0]
}

func wantAttributes(t *testing.T, where string, got []attribute.KeyValue, want string) {
	t.Helper()
	set := attribute.NewSet(got...)
	if encoded := set.Encoded(attribute.DefaultEncoder()); encoded != want {
		t.Errorf("%s: got %s, want %s", where, encoded, want)
	}
}

// carry makes a ferry of strings, keyed by their first letter, and closes it in the end.
func carry(t *testing.T, cfg ferry.Config, call func(context.Context, string, []string) ([]string, error)) *ferry.Ferry[string, string, string] {
	t.Helper()
	f := ferry.PerKeyWeighed(cfg, func(in string) string { return in[:1] }, func(in string) int { return len(in) }, call)
	t.Cleanup(func() {
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestBatchSpanIsLinkedToItsCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := listen()
		l.Attributes = []attribute.KeyValue{attribute.String("goferry.name", "letters")}
		var inside trace.SpanContext
		f := carry(t, ferry.Config{Observer: l.observer(t), Linger: time.Second}, func(ctx context.Context, _ string, ins []string) ([]string, error) {
			child, span := l.tracer.Start(ctx, "store")
			inside = trace.SpanContextFromContext(child)
			span.End()
			return ins, nil
		})
		one, first := l.tracer.Start(t.Context(), "first")
		two, second := l.tracer.Start(t.Context(), "second")
		go f.SubmitAll(one, []string{"a1", "a22"}) // One caller of two inputs is one link.
		go f.Submit(two, "a3")
		go f.Submit(t.Context(), "a4") // No span, no link.
		time.Sleep(time.Minute)

		span := l.span(t)
		if span.Parent().IsValid() || span.SpanContext().TraceID() == first.SpanContext().TraceID() {
			t.Error("the batch belongs to the trace of its first caller, want one of its own")
		}
		if inside.TraceID() != span.SpanContext().TraceID() {
			t.Error("the store's span is not in the trace of the batch")
		}
		linked := map[trace.SpanID]bool{}
		for _, link := range span.Links() {
			linked[link.SpanContext.SpanID()] = true
		}
		if len(span.Links()) != 2 || !linked[first.SpanContext().SpanID()] || !linked[second.SpanContext().SpanID()] {
			t.Errorf("links: got %v, want one to each of the callers' two spans", span.Links())
		}
		wantAttributes(t, "span", span.Attributes(),
			"goferry.batch.retries=0,goferry.batch.size=4,goferry.batch.wait=1,goferry.batch.weight=9,goferry.lane.count=1,goferry.name=letters")
		if got := span.Status().Code; got != codes.Unset {
			t.Errorf("status: got %v, want it unset", got)
		}
	})
}

func TestMetricsOfBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := listen()
		f := carry(t, ferry.Config{Observer: l.observer(t)}, func(_ context.Context, _ string, ins []string) ([]string, error) {
			time.Sleep(2 * time.Second)
			if ins[0] == "b" {
				return nil, backends.ErrRefused
			}
			return ins, nil
		})
		go f.SubmitAll(t.Context(), []string{"a", "b"})
		synctest.Wait()
		go f.SubmitAll(t.Context(), []string{"a", "a", "a"})
		time.Sleep(time.Minute)
		l.want(t, map[string]string{
			"goferry.batch.size":                         "5 in 3",
			"goferry.batch.wait":                         "2 in 3",
			"goferry.batch.duration":                     "4 in 2",
			"goferry.batch.duration{error.type=refused}": "2 in 1",
		})
	})
}

func TestRetriesAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := listen()
		f := carry(t, ferry.Config{Observer: l.observer(t)}, func(ctx context.Context, _ string, ins []string) ([]string, error) {
			left := 2
			return schedule.Retry(ctx, schedule.Spaced(time.Second), func(context.Context) ([]string, error) {
				if left--; left >= 0 {
					return nil, &backends.Error{Op: "commit", Key: "secret", Class: backends.ErrConflict}
				}
				return ins, nil
			})
		})
		if _, err := f.Submit(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		l.want(t, map[string]string{"goferry.retries{error.type=conflict}": "2"})
		span := l.span(t)
		wantAttributes(t, "span", span.Attributes(),
			"goferry.batch.retries=2,goferry.batch.size=1,goferry.batch.wait=0,goferry.batch.weight=1,goferry.lane.count=1")
		if len(span.Events()) != 2 {
			t.Fatalf("events: got %v, want 2", span.Events())
		}
		wantAttributes(t, "event", span.Events()[1].Attributes, "error.type=conflict,goferry.retry.delay=1")
	})
}

func TestFailuresAreToldByTheirKind(t *testing.T) {
	t.Parallel()
	errOwn := errors.New("secret of ours")
	tests := []struct {
		fail func() error
		want string
	}{
		{func() error { panic("secret") }, "panic"},
		{func() error { return &fold.Error{Err: &fold.PanicError{Value: "secret"}} }, "panic"},
		{func() error { return ferry.ErrGoexit }, "goexit"},
		{func() error { return projected.ErrGoexit }, "goexit"},
		{func() error { return nil }, "count"},
		{func() error { return &projected.CountError{Key: "secret"} }, "count"},
		{func() error { return &backends.Error{Class: backends.ErrUnknown, Err: context.DeadlineExceeded} }, "timeout"},
		{func() error { return context.Canceled }, "canceled"},
		{func() error { return &fold.Error{Key: "secret", Err: &backends.Error{Class: backends.ErrConflict}} }, "conflict"},
		{func() error { return &backends.Error{Class: backends.ErrRefused, Err: errors.New("secret")} }, "refused"},
		{func() error { return &backends.Error{Class: backends.ErrUnknown} }, "unknown"},
		{func() error { return errors.New("secret") }, "_OTHER"},
		{func() error { return fmt.Errorf("secret: %w", errOwn) }, "ours"},
		{func() error { return errBad }, "_OTHER"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			l := listen()
			l.Kind = func(err error) string {
				switch {
				case errors.Is(err, errBad):
					panic("secret")
				case errors.Is(err, errOwn):
					return "ours"
				}
				return ""
			}
			f := carry(t, ferry.Config{Observer: l.observer(t)}, func(context.Context, string, []string) ([]string, error) {
				return nil, tt.fail()
			})
			if _, err := f.Submit(t.Context(), "secret"); err == nil {
				t.Fatal("no error")
			}
			span := l.span(t)
			if got := span.Status(); got.Code != codes.Error || got.Description != tt.want {
				t.Errorf("status: got %v, want the error %s", got, tt.want)
			}
			wantAttributes(t, "span", span.Attributes(), "error.type="+tt.want+
				",goferry.batch.retries=0,goferry.batch.size=1,goferry.batch.wait=0,goferry.batch.weight=6,goferry.lane.count=1")
			if all := fmt.Sprintf("%+v %+v", tracetest.SpanStubsFromReadOnlySpans(l.spans.Ended()), l.collect(t)); strings.Contains(all, "secret") {
				t.Errorf("%s: a secret is told: %s", tt.want, all)
			}
			l.want(t, map[string]string{"goferry.batch.duration{error.type=" + tt.want + "}": "0 in 1"})
		})
	}
}

var errBad = errors.New("an error that the user's function cannot take")

func TestRetryThatCannotBeNamedFailsNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := listen()
		l.Kind = func(error) string { panic("bad kind") }
		f := carry(t, ferry.Config{Observer: l.observer(t)}, func(ctx context.Context, _ string, ins []string) ([]string, error) {
			failed := false
			return schedule.Retry(ctx, schedule.Recurs(1), func(context.Context) ([]string, error) {
				if !failed {
					failed = true
					return nil, errBad
				}
				return ins, nil
			})
		})
		if out, err := f.Submit(t.Context(), "a"); out != "a" || err != nil {
			t.Errorf("got %q, %v, want an answer", out, err)
		}
		l.want(t, map[string]string{"goferry.retries{error.type=_OTHER}": "1"})
	})
}

func TestKeysAreOnSpansIfAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := listen()
		l.Keys = true
		f := carry(t, ferry.Config{Observer: l.observer(t)}, func(_ context.Context, _ string, ins []string) ([]string, error) { return ins, nil })
		if _, err := f.Submit(t.Context(), "k1"); err != nil {
			t.Fatal(err)
		}
		wantAttributes(t, "span", l.span(t).Attributes(),
			"goferry.batch.retries=0,goferry.batch.size=1,goferry.batch.wait=0,goferry.batch.weight=2,goferry.key=k,goferry.lane.count=1")
		if all := fmt.Sprint(l.collect(t)); strings.Contains(all, "goferry.key") {
			t.Errorf("a metric has a key: %s", all)
		}
	})
}

func TestRefusalsAndGauges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := listen()
		l.Attributes = []attribute.KeyValue{attribute.String("name", "n")}
		land := make(chan struct{})
		f := carry(t, ferry.Config{Observer: l.observer(t), MaxInFlight: 1, MaxQueued: 3, MaxQueuedPerKey: 2, Overflow: ferry.WaitUpTo(time.Minute)},
			func(_ context.Context, _ string, ins []string) ([]string, error) {
				<-land
				return ins, nil
			})
		gauges, err := otel.Gauges(l.Config, f.Stats)
		if err != nil {
			t.Fatal(err)
		}
		go f.Submit(t.Context(), "z")
		synctest.Wait()
		go f.SubmitAll(t.Context(), []string{"a1", "a2", "b123"})
		time.Sleep(time.Second)
		go f.Submit(t.Context(), "a3")
		go f.Submit(t.Context(), "c1")
		time.Sleep(2 * time.Second)
		l.want(t, map[string]string{
			"goferry.lane.count{name=n}":        "4",
			"goferry.queue.waiting{name=n}":     "2",
			"goferry.queue.size{name=n}":        "3",
			"goferry.queue.weight{name=n}":      "8",
			"goferry.queue.oldest_wait{name=n}": "3",
			"goferry.batch.in_flight{name=n}":   "1",
		})
		time.Sleep(time.Minute)
		l.want(t, map[string]string{
			"goferry.refusals{goferry.bound=MaxQueued,name=n}":       "1",
			"goferry.refusals{goferry.bound=MaxQueuedPerKey,name=n}": "1",
			"goferry.queue.waiting{name=n}":                          "0",
		})
		if err := gauges.Unregister(); err != nil {
			t.Error(err)
		}
		if got, ok := l.collect(t)["goferry.queue.size"]; ok {
			t.Errorf("after Unregister: got %v, want nothing", got)
		}
		close(land)
	})
}

func TestJoinedObserversKeepTheirOwnSpans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := listen(), listen()
		f := carry(t, ferry.Config{Observer: ferry.Observers(one.observer(t), two.observer(t))},
			func(_ context.Context, _ string, ins []string) ([]string, error) { return ins, nil })
		if _, err := f.Submit(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		for _, l := range []*listener{one, two} {
			l.span(t)
			l.want(t, map[string]string{"goferry.batch.duration": "0 in 1"})
		}
	})
}

func TestContextOfAnotherMakingIsLeftAlone(t *testing.T) {
	t.Parallel()
	l := listen()
	l.observer(t).BatchEnded(t.Context(), ferry.Batch{}, nil)
	if got := l.spans.Ended(); len(got) != 0 {
		t.Errorf("spans: got %v, want none", got)
	}
}

func TestTheZeroConfigReportsToTheGlobalProviders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, err := otel.Observer(otel.Config{})
		if err != nil {
			t.Fatal(err)
		}
		f := carry(t, ferry.Config{Observer: o}, func(_ context.Context, _ string, ins []string) ([]string, error) { return ins, nil })
		if out, err := f.Submit(t.Context(), "a"); out != "a" || err != nil {
			t.Errorf("got %q, %v, want an answer", out, err)
		}
	})
}

// refusing is a meter that makes no instrument of one name.
type refusing struct {
	noop.Meter
	name string
}

type provider struct {
	noop.MeterProvider
	meter refusing
}

func (p provider) Meter(string, ...metric.MeterOption) metric.Meter { return p.meter }

func (r refusing) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return noop.Int64Counter{}, r.refuse(name)
}

func (r refusing) Int64ObservableUpDownCounter(name string, _ ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	return noop.Int64ObservableUpDownCounter{}, r.refuse(name)
}

func (r refusing) refuse(name string) error {
	if name == r.name {
		return fmt.Errorf("%s: %w", name, errBad)
	}
	return nil
}

func TestAMetersErrorIsAnswered(t *testing.T) {
	t.Parallel()
	tests := map[string]func(otel.Config) error{
		"goferry.refusals":       func(c otel.Config) error { _, err := otel.Observer(c); return err },
		"goferry.queue.size":     func(c otel.Config) error { _, err := otel.Gauges(c, noStats); return err },
		"goferry.sweeper.visits": func(c otel.Config) error { return otel.Sweeps(c, &projected.Sweeper[string, string]{}) },
	}
	for name, build := range tests {
		for refused := range tests {
			err := build(otel.Config{Meters: provider{meter: refusing{name: refused}}})
			if got, want := errors.Is(err, errBad), name == refused; got != want {
				t.Errorf("%s, with %s refused: got %v", name, refused, err)
			}
		}
	}
}

func noStats() ferry.Stats[string] { return ferry.Stats[string]{} }

func TestSweeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := listen()
		s := sweeper()
		var visited atomic.Int32
		rounds := 0
		s.OnVisit = func(string, projected.Projection[string], error) { visited.Add(1) }
		s.OnRound = func(projected.Round, error) { rounds++ }
		if err := otel.Sweeps(l.Config, s); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer stop()
		if err := s.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if visited.Load() != 3 || rounds != 3 {
			t.Errorf("its own hooks: got %d visits and %d rounds, want 3 and 3", visited.Load(), rounds)
		}
		l.want(t, map[string]string{
			"goferry.sweeper.visits{goferry.sweeper.result=done}":                      "1",
			"goferry.sweeper.visits{goferry.sweeper.result=pending}":                   "1",
			"goferry.sweeper.visits{error.type=refused,goferry.sweeper.result=failed}": "1",
			"goferry.sweeper.rounds":                     "2",
			"goferry.sweeper.rounds{error.type=unknown}": "1",
			"goferry.sweeper.pending":                    "2",
			"goferry.sweeper.backing_off":                "2",
		})
	})
}

// sweeper sweeps three keys, of which only "done" can be finished. Its third listing breaks off.
func sweeper() *projected.Sweeper[string, string] {
	type env struct{}
	listings := 0
	write := projected.New(
		fold.New[*backends.Error](
			func(in string) string { return in },
			func(env, context.Context, string) (string, error) { return "pending", nil },
			func(s string, _ string) (string, string, bool) { return s, "", false },
			func(_ env, _ context.Context, _ string, _, next string) (string, error) { return next, nil },
			schedule.Recurs(0)),
		func(s string) bool { return s == "pending" },
		func(_ env, _ context.Context, key, _ string) (projected.Projection[string], error) {
			switch key {
			case "pending":
				return projected.Projection[string]{"entry": backends.ErrRefused}, nil
			case "failed":
				return nil, &backends.Error{Op: "project", Key: key, Class: backends.ErrRefused}
			}
			return nil, nil
		})
	s := projected.NewSweeper(write, env{}, func(env, context.Context) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			listings++
			keys := []string{"pending", "failed", "done"}
			switch listings {
			case 2:
				keys = keys[:2]
			case 3:
				yield("", &backends.Error{Op: "list", Class: backends.ErrUnknown})
				return
			}
			for _, key := range keys {
				if !yield(key, nil) {
					return
				}
			}
		}
	})
	s.Every, s.MinBackoff, s.MaxBackoff = schedule.Spaced(time.Second), time.Hour, time.Hour
	return s
}

// The table of the package documentation is what is reported, with its units.
func TestTheDocumentedMetricsAreThoseReported(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("otel.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(goferry\.\S+) +(counter|sum|gauge|histogram), (\S+)`).FindAllStringSubmatch(string(source), -1) {
		documented[m[1]] = m[2] + ", " + m[3]
	}
	synctest.Test(t, func(t *testing.T) {
		l := listen()
		f := carry(t, ferry.Config{Observer: l.observer(t), MaxQueued: 1, Linger: time.Second}, func(ctx context.Context, _ string, ins []string) ([]string, error) {
			return schedule.Retry(ctx, schedule.Recurs(1), func(context.Context) ([]string, error) { return ins, errBad })
		})
		if _, err := otel.Gauges(l.Config, f.Stats); err != nil {
			t.Fatal(err)
		}
		s := sweeper()
		if err := otel.Sweeps(l.Config, s); err != nil {
			t.Fatal(err)
		}
		f.SubmitAll(t.Context(), []string{"a", "b", "c"})
		ctx, stop := context.WithTimeout(t.Context(), time.Second/2)
		defer stop()
		_ = s.Run(ctx)
		reported := map[string]string{}
		for name, m := range l.collect(t) {
			if m.Description == "" {
				t.Errorf("%s has no description", name)
			}
			reported[name] = shape(t, m.Data) + ", " + m.Unit
		}
		if got, want := fmt.Sprint(reported), fmt.Sprint(documented); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func shape(t *testing.T, data metricdata.Aggregation) string {
	t.Helper()
	switch d := data.(type) {
	case metricdata.Histogram[int64], metricdata.Histogram[float64]:
		return "histogram"
	case metricdata.Gauge[int64], metricdata.Gauge[float64]:
		return "gauge"
	case metricdata.Sum[int64]:
		if d.IsMonotonic {
			return "counter"
		}
		return "sum"
	}
	t.Errorf("no such shape: %T", data)
	return ""
}
