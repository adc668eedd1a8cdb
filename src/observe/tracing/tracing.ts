import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { isTraceparent } from '../../proof/statement/fields.ts'
import { TRACE_ATTRIBUTE_CHARS_MAX, TRACE_ATTRIBUTES_MAX, TRACE_LINKS_MAX } from '../limits.ts'
import { VERSION } from '../version.ts'
import type { SamplerName, TracingOptions } from './options.ts'
import { SpanSender, type TraceObserver } from './span-sender.ts'

type SpanOptions = {
  readonly kind: keyof typeof KINDS
  /** The caller's span. null if the new span begins a trace. */
  readonly parent: SpanContext | null
  /** Attributes of the span. They MUST NOT contain a secret or any part of a payload. */
  readonly attributes?: Attributes
  readonly links?: readonly SpanContext[]
  /** Start time of the span, as performance.now(). Default: now. */
  readonly startedAt?: number
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const

/**
 * Makes the spans of a process and sends them to a collector. This module loads OpenTelemetry, so import it only if
 * tracing is on (open.ts). Only `close` waits for the collector, for at most TRACE_CLOSE_MS_MAX.
 *
 * AsyncLocalStorage passes the current span from the handler of a request to the appender, and from a batch of jobs to
 * the work of each job. Elsewhere spans are passed as arguments. No library is patched.
 */
export class Tracing {
  readonly #sender: SpanSender
  readonly #tracer: Tracer
  readonly #always: Tracer
  readonly #current = new AsyncLocalStorage<Span>()

  constructor(options: TracingOptions, process: string, observer: TraceObserver) {
    this.#sender = new SpanSender(options, observer)
    const resource = defaultResource().merge(
      resourceFromAttributes({
        'service.instance.id': randomUUID(),
        'service.version': VERSION,
        ...options.resource,
        'service.name': options.serviceName ?? process,
      }),
    )
    const makeTracer = (sampler: Sampler) =>
      new TracerProvider({
        resource,
        sampler,
        spanProcessors: [this.#sender.processor],
        spanLimits: {
          attributeCountLimit: TRACE_ATTRIBUTES_MAX,
          attributeValueLengthLimit: TRACE_ATTRIBUTE_CHARS_MAX,
          linkCountLimit: TRACE_LINKS_MAX,
        },
      }).getTracer('tallystick', VERSION)
    this.#tracer = makeTracer(samplerOf(options.sampler))
    this.#always = makeTracer(new AlwaysOnSampler())
  }

  /** Starts a span. Returns null if the span is not sampled. A span that is not sampled MUST NOT have children. */
  start(name: string, options: SpanOptions): Span | null {
    const span = start(this.#tracer, name, options)
    return span.isRecording() ? span : null
  }

  /**
   * Starts a span for work that serves several sampled spans. The span is always recorded, because readers of those
   * spans need it.
   */
  startFor(sampled: readonly SpanContext[], name: string, options: Omit<SpanOptions, 'links'>): Span {
    return start(this.#always, name, { ...options, links: sampled.slice(0, TRACE_LINKS_MAX) })
  }

  /** Parses the caller's W3C Trace Context. Returns null if it is missing or malformed. */
  parentOf(traceparent: unknown, tracestate?: unknown): SpanContext | null {
    if (typeof traceparent !== 'string' || !isTraceparent(traceparent)) return null
    const [, traceId, spanId, flags] = traceparent.split('-') as [string, string, string, string]
    return {
      traceId,
      spanId,
      traceFlags: Number.parseInt(flags, 16),
      isRemote: true,
      ...(typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }),
    }
  }

  get current(): Span | null {
    return this.#current.getStore() ?? null
  }

  /** Calls `run` with `span` as the current span. The span stays current in everything that `run` awaits. */
  with<T>(span: Span, run: () => T): T {
    return this.#current.run(span, run)
  }

  /** Sends the spans that have ended. Waits at most TRACE_CLOSE_MS_MAX. */
  close(): Promise<void> {
    return this.#sender.close()
  }
}

function start(tracer: Tracer, name: string, { kind, parent, attributes, links, startedAt }: SpanOptions) {
  const context: Context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
  return tracer.startSpan(
    name,
    {
      kind: KINDS[kind],
      ...(attributes && { attributes }),
      ...(links && { links: links.map((link) => ({ context: link })) }),
      ...(startedAt !== undefined && { startTime: startedAt }),
    },
    context,
  )
}

function samplerOf({ name, ratio }: { name: SamplerName; ratio: number }): Sampler {
  const byName: Record<SamplerName, () => Sampler> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
    parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
    parentbased_traceidratio: () => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
  }
  return byName[name]()
}
