// Exports a run and its events with OpenTelemetry's exporters of Go, using the variables of docs/integrations/otlp.md.
// Usage: otlp NAME.
// Each export is sent twice, as after a lost answer.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

func main() {
	name, ctx := os.Args[1], context.Background()
	about := resource.NewSchemaless(attribute.String("service.name", name))
	must(exportSpans(ctx, name, about))
	must(exportLogs(ctx, name, about))
}

func exportSpans(ctx context.Context, name string, about *resource.Resource) error {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(spansTwice{exporter}), trace.WithResource(about))
	tracer := provider.Tracer("oracle")
	run, span := tracer.Start(ctx, "invoke_agent", api.WithAttributes(attribute.String("gen_ai.operation.name", "invoke_agent")))
	for i := range 3 {
		_, call := tracer.Start(run, "execute_tool", api.WithAttributes(
			attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("gen_ai.tool.call.id", fmt.Sprintf("%s-%d", name, i)),
			attribute.Int("n", i),
			attribute.Float64Slice("of", []float64{1.5, 2.5}),
		))
		call.AddEvent("tried", api.WithAttributes(attribute.Int("times", i)))
		call.End()
	}
	span.End()
	return provider.Shutdown(ctx)
}

func exportLogs(ctx context.Context, name string, about *resource.Resource) error {
	exporter, err := otlploghttp.New(ctx)
	if err != nil {
		return err
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logsTwice{exporter})), sdklog.WithResource(about))
	logger := provider.Logger("oracle")
	for i := range 3 {
		var event log.Record
		event.SetTimestamp(time.Now())
		event.SetEventName("gen_ai.evaluation.result")
		event.SetBody(attribute.StringValue(fmt.Sprintf("event %d", i)))
		event.AddAttributes(attribute.String("session.id", name))
		logger.Emit(ctx, event)
	}
	return provider.Shutdown(ctx)
}

type spansTwice struct{ trace.SpanExporter }

func (e spansTwice) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		return err
	}
	return e.SpanExporter.ExportSpans(ctx, spans)
}

type logsTwice struct{ sdklog.Exporter }

func (e logsTwice) Export(ctx context.Context, records []sdklog.Record) error {
	if err := e.Exporter.Export(ctx, records); err != nil {
		return err
	}
	return e.Exporter.Export(ctx, records)
}

func must(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
