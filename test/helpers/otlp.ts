import { gzipSync } from 'node:zlib'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  JsonLogsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  InMemoryLogRecordExporter,
  LoggerProvider,
  type ReadableLogRecord,
  SimpleLogRecordProcessor,
} from '@opentelemetry/sdk-logs'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { SendOptions, TestApp } from './app.ts'

type Attributes = Record<string, string | number | boolean | string[]>

const RESOURCE = { 'service.name': 'agents', 'service.version': '1.0' }
/**
 * Returns the finished spans of one trace: one tool call for each of `names`, and their parent, the agent, at the end.
 */
export function agentRun(names: readonly string[], attributes: Attributes = {}): ReadableSpan[] {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({
    resource: resourceFromAttributes(RESOURCE),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  })
  const tracer = provider.getTracer('agents', '2.0')
  const root = tracer.startSpan('invoke_agent billing', {
    kind: SpanKind.SERVER,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.id': 'billing' },
  })
  const below = trace.setSpan(ROOT_CONTEXT, root)
  for (const [i, name] of names.entries()) {
    const made = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': `call_${i}`,
      'gen_ai.tool.call.arguments': `{"n":${i}}`,
      'gen_ai.conversation.id': 'c-1',
      ...attributes,
    }
    const span = tracer.startSpan(`execute_tool ${name}`, { attributes: made }, below)
    span.addEvent('tried', { times: 1 })
    span.setStatus({ code: SpanStatusCode.OK })
    span.end()
  }
  root.end()
  return exporter.getFinishedSpans()
}

type Log = { readonly eventName?: string; readonly body?: string; readonly attributes?: Attributes }

/** Returns log records of one process, one millisecond apart. */
export function agentLogs(logs: readonly Log[]): ReadableLogRecord[] {
  const exporter = new InMemoryLogRecordExporter()
  const provider = new LoggerProvider({
    resource: resourceFromAttributes(RESOURCE),
    processors: [new SimpleLogRecordProcessor({ exporter })],
  })
  const logger = provider.getLogger('events', '1')
  for (const [i, log] of logs.entries())
    logger.emit({ severityNumber: 9, timestamp: 1_790_000_000_000 + i, ...log })
  return exporter.getFinishedLogRecords()
}

export type Encoding = 'json' | 'protobuf'

export function encodeSpans(spans: ReadableSpan[], encoding: Encoding = 'protobuf'): Buffer {
  const serializer = encoding === 'json' ? JsonTraceSerializer : ProtobufTraceSerializer
  return Buffer.from(serializer.serializeRequest(spans)!)
}

export function encodeLogs(logs: ReadableLogRecord[], encoding: Encoding = 'protobuf'): Buffer {
  const serializer = encoding === 'json' ? JsonLogsSerializer : ProtobufLogsSerializer
  return Buffer.from(serializer.serializeRequest(logs)!)
}

type Sent = { readonly encoding?: Encoding; readonly gzip?: boolean } & SendOptions

export function sendOtlp(
  app: TestApp,
  signal: 'traces' | 'logs',
  body: Buffer,
  { encoding = 'protobuf', gzip = false, headers, ...options }: Sent = {},
) {
  return app.send('POST', `/v1/${signal}`, {
    text: gzip ? gzipSync(body) : body,
    headers: {
      'content-type': encoding === 'json' ? 'application/json' : 'application/x-protobuf',
      ...(gzip && { 'content-encoding': 'gzip' }),
      ...headers,
    },
    ...options,
  })
}

/** Sets the OTLP settings of the ledger's first key; null sets the defaults. */
export const setOtlp = (app: TestApp, otlp: object | null) =>
  app.send('PUT', `/v1/keys/${app.ledger.key.id}/otlp`, { body: { otlp } })
