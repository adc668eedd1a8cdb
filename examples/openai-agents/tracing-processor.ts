import { createHash } from 'node:crypto'
import type { Span, SpanData, Trace, TracingProcessor } from '@openai/agents'
import type { Notarizer } from '@tallystick/sdk'
import { type Digested, payloadOfSpan, payloadOfTrace } from './payloads.ts'

export type TracingProcessorOptions = {
  /** Keep inputs and outputs, of at most 16 KiB each, beside their digests. Without it a record says that they were, not what. */
  readonly content?: boolean
  /** Hears of records that could not be made, once for each: the agents are never told. */
  readonly onError?: (error: unknown) => void
}

const CONTENT_BYTES_MAX = 16 * 1024
const FLUSH_MS_MAX = 30_000
const TRACE_ID = /^trace_([0-9a-f]{32})$/

/**
 * Writes down what agents of the OpenAI Agents SDK do: each span that ended becomes a record, and so does each trace.
 *
 *     addTraceProcessor(new TallystickTracingProcessor(new Tallystick().notarizer()))
 *
 * It never waits for the server, and never throws: the agents run on while it is away, and what they did is recorded later.
 */
export class TallystickTracingProcessor implements TracingProcessor {
  readonly #ledger: Notarizer
  readonly #content: boolean
  readonly #onError: (error: unknown) => void
  /** Since the last record that was taken: the next one says so, or the ledger would hide it. */
  #lost = 0

  constructor(ledger: Notarizer, { content = false, onError = () => {} }: TracingProcessorOptions = {}) {
    this.#ledger = ledger
    this.#content = content
    this.#onError = onError
  }

  async onTraceStart(): Promise<void> {}
  async onSpanStart(): Promise<void> {}

  async onSpanEnd(span: Span<SpanData>): Promise<void> {
    this.#record(span.traceId, span.endedAt, () => payloadOfSpan(span, this.#digest))
  }

  async onTraceEnd(trace: Trace): Promise<void> {
    this.#record(trace.traceId, new Date().toISOString(), () => payloadOfTrace(trace, this.#digest))
  }

  async forceFlush(): Promise<void> {
    await this.#ledger.flush({ timeoutMs: FLUSH_MS_MAX }).catch(this.#onError)
  }

  /** A record that is not sent by then is still in the notarizer's spool, if it has one. */
  async shutdown(timeoutMs: number = FLUSH_MS_MAX): Promise<void> {
    await this.#ledger.close({ timeoutMs }).catch(this.#onError)
  }

  /** A throw from here would end the agents' run. */
  #record(traceId: string, occurredAt: string | null, makePayload: () => object): void {
    try {
      const lost = this.#lost === 0 ? {} : { lostBefore: this.#lost }
      this.#ledger.record(
        { source: 'openai-agents', ...makePayload(), ...lost },
        { traceparent: traceparentOf(traceId), ...(occurredAt !== null && { occurredAt }) },
      )
      this.#lost = 0
    } catch (error) {
      this.#lost++
      this.#onError(error)
    }
  }

  #digest = (value: unknown): Digested | null => {
    if (value === undefined || value === null) return null
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const bytes = Buffer.byteLength(text)
    const sha256 = createHash('sha256').update(text).digest('hex')
    return { sha256, bytes, ...(this.#content && isKeepable(text) && { text }) }
  }
}

/**
 * Whether a record can hold it, also beside another one: a tool's answer must not decide whether its call is recorded.
 */
function isKeepable(text: string): boolean {
  return (
    text.length <= CONTENT_BYTES_MAX &&
    text.isWellFormed() &&
    !text.includes('\0') &&
    Buffer.byteLength(JSON.stringify(text)) <= CONTENT_BYTES_MAX
  )
}

/** W3C Trace Context: by the trace's id all of its records are found (`GET /v1/records?traceId=`). */
export function traceparentOf(traceId: string): string {
  const id = TRACE_ID.exec(traceId)?.[1] ?? createHash('sha256').update(traceId).digest('hex').slice(0, 32)
  return `00-${id}-${id.slice(16)}-01`
}
