"""Exports a run and its events with OpenTelemetry's exporters, using the variables of docs/integrations/otlp.md. Usage: otlp.py URL KEY
none|gzip NAME"""

import logging
import os
import sys
import warnings

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

warnings.simplefilter("ignore", DeprecationWarning)
url, key, compression, name = sys.argv[1:]
os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = url
os.environ["OTEL_EXPORTER_OTLP_HEADERS"] = f"Authorization=Bearer%20{key}"
how = Compression.Gzip if compression == "gzip" else Compression.NoCompression
resource = Resource.create({"service.name": name})

spans = TracerProvider(resource=resource)
spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(compression=how)))
tracer = spans.get_tracer("oracle", "1")
with tracer.start_as_current_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
    for i in range(3):
        about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": f"{name}-{i}", "n": i, "of": [1.5, 2.5]}
        with tracer.start_as_current_span("execute_tool", attributes=about) as span:
            span.add_event("tried", {"times": i})

logs = LoggerProvider(resource=resource)
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(compression=how)))
logger = logging.getLogger("oracle")
logger.setLevel(logging.INFO)
logger.addHandler(LoggingHandler(logger_provider=logs))
for i in range(3):
    logger.info("event %d", i, extra={"event.name": "gen_ai.evaluation.result", "session.id": name})

spans.shutdown()
logs.shutdown()
