import type { WebhookKey } from '../../db/events/webhook-leases.ts'
import type { Attempt } from '../../db/events/webhook-work.ts'
import type { Connector } from '../connector/connector.ts'
import { OutboundError } from '../connector/error.ts'
import { formatEventId } from '../events/event-id.ts'
import type { Delivery } from './delivery.ts'
import { signatureHeader, type WebhookSigner } from './secrets.ts'
import { mayAskForTime } from './statuses.ts'

/**
 * Result of one attempt.
 *
 * - `gone`: the endpoint answered that it wants no more events.
 * - `aborted`: this process aborted the request, so the result is unknown.
 */
export type AttemptResult = {
  readonly outcome: 'delivered' | 'failed' | 'gone' | 'aborted'
  readonly attempt: Attempt
  readonly retryAfterMs: number | null
}

export type AttemptOutcome = {
  readonly outcome: 'delivered' | 'failed' | 'dead'
  readonly status: number | null
  readonly error: string | null
  /** Duration of the request in ms. null if nothing was sent. */
  readonly durationMs: number | null
  /** Time in ms from the event to its successful delivery. null if the delivery did not succeed. */
  readonly lagMs: number | null
}

export type DeliveryObserver = (attempt: AttemptOutcome) => void

export type AttemptDeps = {
  readonly connector: Pick<Connector, 'post'>
  readonly now: () => number
  readonly userAgent: string
  /** Traces attempts. null if tracing is off. */
  readonly traceAttempt: AttemptTracer | null
}

type AttemptedEndpoint = WebhookKey & { readonly url: string; readonly signers: readonly WebhookSigner[] }
type AttemptedDelivery = Omit<Delivery, 'body'> & { readonly body: string }

/** Called when an attempt starts. Returns a callback for the attempt's result, or null. Neither function may throw. */
export type AttemptTracer = (
  endpoint: AttemptedEndpoint,
  delivery: AttemptedDelivery,
) => ((result: AttemptResult) => void) | null

const GONE = 410

/** Sends one request to an endpoint (Standard Webhooks). Never throws for a failed request. */
export async function attemptDelivery(
  deps: AttemptDeps,
  endpoint: AttemptedEndpoint,
  delivery: AttemptedDelivery,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const ended = deps.traceAttempt?.(endpoint, delivery)
  const result = await attempt(deps, endpoint, delivery, signal)
  ended?.(result)
  return result
}

async function attempt(
  { connector, now, userAgent }: AttemptDeps,
  endpoint: AttemptedEndpoint,
  message: AttemptedDelivery,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const atMs = now()
  const beganAt = performance.now()
  const id = formatEventId(message.eventId)
  const timestamp = Math.floor(atMs / 1000)
  const body = Buffer.from(message.body)
  const headers = {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureHeader(endpoint.signers, id, timestamp, body),
  }
  const at = new Date(atMs).toISOString()
  try {
    const answer = await connector.post({ url: endpoint.url, headers, body, signal })
    const { status, excerpt, retryAfterMs } = answer
    const isDelivered = status >= 200 && status < 300
    return {
      outcome: isDelivered ? 'delivered' : status === GONE ? 'gone' : 'failed',
      attempt: { at, durationMs: Math.round(answer.durationMs), status, error: null, reason: null, excerpt },
      retryAfterMs: mayAskForTime(status) ? retryAfterMs : null,
    }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const durationMs = Math.round(performance.now() - beganAt)
    return {
      outcome: error.code === 'aborted' ? 'aborted' : 'failed',
      attempt: { at, durationMs, status: null, error: error.code, reason: error.reason, excerpt: null },
      retryAfterMs: null,
    }
  }
}
