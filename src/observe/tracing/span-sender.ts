import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type Span,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace'
import {
  TRACE_CLOSE_MS_MAX,
  TRACE_EXPORT_EVERY_MS,
  TRACE_SPANS_PER_EXPORT,
  TRACE_SPANS_WAITING_MAX,
} from '../limits.ts'
import type { TracingOptions } from './options.ts'

/**
 * Why spans were lost.
 *
 * - `queue_full`: spans were made faster than the collector accepted them.
 * - `not_taken`: the collector did not accept the spans.
 * - `closed`: the process had to end.
 */
export type LossReason = 'queue_full' | 'not_taken' | 'closed'

/** Called with the number of spans that were sent or lost. MUST NOT throw. */
export type TraceObserver = {
  sent(spans: number): void
  lost(spans: number, reason: LossReason, error: Error | null): void
}

type Done = Parameters<SpanExporter['export']>[1]
type Result = Parameters<Done>[0]

const SUCCESS = 0
const FAILED = 1
const SAMPLED = 1

/**
 * Sends ended spans, one request at a time. At most TRACE_SPANS_WAITING_MAX spans are in memory, including spans that
 * are being sent, whatever the collector does. Each span is counted once, as sent or as lost.
 */
export class SpanSender {
  readonly processor: SpanProcessor
  readonly #batches: BatchSpanProcessor
  readonly #agent: HttpAgent
  readonly #observer: TraceObserver
  #waiting = 0
  #closed = false

  constructor(options: TracingOptions, observer: TraceObserver) {
    this.#observer = observer
    // The sender has an agent of its own, because the exporter never closes its connections.
    this.#agent = options.url.startsWith('https:')
      ? new HttpsAgent({ keepAlive: true, ...options.tls })
      : new HttpAgent({ keepAlive: true })
    const exporter = withoutEnvironment(
      () =>
        new OTLPTraceExporter({
          url: options.url,
          headers: { ...options.headers },
          timeoutMillis: options.timeoutMs,
          compression: options.compression as never,
          // The limit is high enough for `close`, which sends all waiting spans at once.
          concurrencyLimit: 1 + Math.ceil(TRACE_SPANS_WAITING_MAX / TRACE_SPANS_PER_EXPORT),
          httpAgentOptions: () => this.#agent,
        }),
    )
    this.#batches = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) => this.#export(exporter, options.timeoutMs, spans, done),
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize: TRACE_SPANS_WAITING_MAX,
      maxExportBatchSize: TRACE_SPANS_PER_EXPORT,
      scheduledDelayMillis: TRACE_EXPORT_EVERY_MS,
      // This is longer than the timeout in `#export`, so that the timeout in `#export` applies first.
      exportTimeoutMillis: options.timeoutMs * 2,
    })
    this.processor = {
      onStart() {},
      onEnd: (span: ReadableSpan) => this.#take(span as Span),
      forceFlush: () => this.#batches.forceFlush(),
      shutdown: () => this.close(),
    }
  }

  /** Sends waiting spans, and waits for the collector for at most TRACE_CLOSE_MS_MAX. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, TRACE_CLOSE_MS_MAX)
    await Promise.race([this.#batches.shutdown().catch(() => {}), late.promise])
    clearTimeout(timer)
    if (this.#waiting > 0) this.#observer.lost(this.#waiting, 'closed', null)
    this.#waiting = 0
    this.#agent.destroy()
  }

  #take(span: Span): void {
    if ((span.spanContext().traceFlags & SAMPLED) === 0) return
    if (this.#closed) this.#observer.lost(1, 'closed', null)
    else if (this.#waiting >= TRACE_SPANS_WAITING_MAX) this.#observer.lost(1, 'queue_full', null)
    else {
      this.#waiting++
      this.#batches.onEnd(span)
    }
  }

  #export(exporter: SpanExporter, timeoutMs: number, spans: ReadableSpan[], done: Done): void {
    let settled = false
    const settle = (result: Result) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      this.#settle(spans.length, result)
      done(result)
    }
    // This timeout is for the whole request. The exporter's own timeout only applies while the collector sends nothing.
    // So a collector that sends a byte from time to time would block the other requests for ever.
    const timer = setTimeout(() => {
      settle({ code: FAILED, error: new Error('the collector took too long') })
      // This ends the request. Otherwise the request would never end, and the exporter allows only `concurrencyLimit`
      // requests at a time.
      this.#agent.destroy()
    }, timeoutMs)
    exporter.export(spans, settle)
  }

  #settle(spans: number, { code, error }: Result): void {
    // `close` has already counted these spans as lost, so they are not counted again. They may have arrived
    // nevertheless.
    if (this.#waiting === 0) return
    this.#waiting -= spans
    if (code === SUCCESS) this.#observer.sent(spans)
    else this.#observer.lost(spans, 'not_taken', error ?? null)
  }
}

/**
 * Runs `make` with an empty environment. Otherwise OpenTelemetry would read the environment itself, and send headers
 * that options.ts has refused.
 */
function withoutEnvironment<T>(make: () => T): T {
  const { env } = process
  process.env = {}
  try {
    return make()
  } finally {
    process.env = env
  }
}
