package otel

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/goferry/goferry/ferry"
	"github.com/goferry/goferry/schedule"
)

// Observer makes an observer that reports the batches, retries and refusals of a ferry. Its error is that of
// a meter which refuses an instrument. [ferry.Observers] joins it to others.
func Observer(cfg Config) (ferry.Observer, error) {
	i := instruments{meter: cfg.meter()}
	o := &observer{
		Config:   cfg,
		plain:    cfg.with(),
		tracer:   cfg.tracer(),
		size:     i.sizes("goferry.batch.size", "Inputs of each call."),
		wait:     i.seconds("goferry.batch.wait", "How long the first input of each call had been waiting."),
		duration: i.seconds("goferry.batch.duration", "How long each call took that returned."),
		refusals: i.counter("goferry.refusals", "{input}", "Inputs refused since a bound had no room."),
		retries:  i.counter("goferry.retries", "{retry}", "Retries in calls."),
	}
	if err := i.err(); err != nil {
		return ferry.Observer{}, err
	}
	return ferry.Observer{BatchStarted: o.started, BatchEnded: o.ended, Overloaded: o.overloaded}, nil
}

type observer struct {
	Config
	plain          metric.MeasurementOption // the attributes of whatever has none of its own
	tracer         trace.Tracer
	size           metric.Int64Histogram
	wait, duration metric.Float64Histogram
	refusals       metric.Int64Counter
	retries        metric.Int64Counter
}

// call is what the observer keeps of a call, in its context, with the observer itself as the key: several may be joined.
type call struct {
	span    trace.Span
	retries atomic.Int64
}

func (o *observer) started(ctx context.Context, b ferry.Batch) context.Context {
	c := &call{}
	ctx, c.span = o.tracer.Start(ctx, "ferry.batch", trace.WithNewRoot(), trace.WithLinks(callers(ctx)...),
		trace.WithAttributes(o.Attributes...), trace.WithAttributes(
			attribute.Int("goferry.batch.size", b.Size),
			attribute.Int("goferry.batch.weight", b.Weight),
			attribute.Float64("goferry.batch.wait", b.Wait.Seconds()),
			attribute.Int("goferry.lane.count", b.Lanes),
		))
	if o.Keys {
		c.span.SetAttributes(attribute.String("goferry.key", fmt.Sprint(b.Key)))
	}
	o.size.Record(ctx, int64(b.Size), o.plain)
	o.wait.Record(ctx, b.Wait.Seconds(), o.plain)
	ctx = context.WithValue(ctx, o, c)
	return schedule.OnRetry(ctx, func(err error, delay time.Duration) { o.retried(ctx, c, err, delay) })
}

func (o *observer) retried(ctx context.Context, c *call, err error, delay time.Duration) {
	why := o.errorType(err)
	c.retries.Add(1)
	c.span.AddEvent("retry", trace.WithAttributes(why, attribute.Float64("goferry.retry.delay", delay.Seconds())))
	o.retries.Add(ctx, 1, o.with(why))
}

func (o *observer) ended(ctx context.Context, b ferry.Batch, err error) {
	c, ok := ctx.Value(o).(*call)
	if !ok {
		return // An observer after this one has answered a context that is not derived from ours.
	}
	c.span.SetAttributes(attribute.Int64("goferry.batch.retries", c.retries.Load()))
	outcome := o.plain
	if err != nil {
		why := o.errorType(err)
		outcome = o.with(why)
		c.span.SetAttributes(why)
		c.span.SetStatus(codes.Error, why.Value.AsString()) // Not the error's text, which may say too much.
	}
	o.duration.Record(ctx, time.Since(b.Start).Seconds(), outcome)
	c.span.End()
}

func (o *observer) overloaded(_ any, bound ferry.Bound) {
	o.refusals.Add(context.Background(), 1, o.with(attribute.String("goferry.bound", string(bound))))
}

// callers answers a link to each span that a caller of the batch is in, once.
func callers(ctx context.Context) []trace.Link {
	var links []trace.Link
	type id struct {
		trace.TraceID
		trace.SpanID
	}
	linked := map[id]bool{}
	for _, caller := range ferry.Callers(ctx) {
		span := trace.SpanContextFromContext(caller)
		key := id{span.TraceID(), span.SpanID()}
		if span.IsValid() && !linked[key] {
			linked[key] = true
			links = append(links, trace.Link{SpanContext: span})
		}
	}
	return links
}
