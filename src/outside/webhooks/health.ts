import type { Endpoint } from '../../db/events/webhook-leases.ts'
import type { Health } from '../../db/events/webhook-work.ts'
import { WEBHOOK_FAILING_GAP_MS_MAX } from '../../db/limits.ts'
import {
  WEBHOOK_BREAKER_FAILURES,
  WEBHOOK_FAILING_DAY_MS,
  WEBHOOK_FAILING_DAYS_MIN,
  WEBHOOK_FAILING_MS_MAX,
  WEBHOOK_PAUSE_MS,
  WEBHOOK_REQUESTS_FIRST,
  WEBHOOK_REQUESTS_PER_ENDPOINT_MAX,
} from './limits.ts'
import { breakerPauseMs, refusalPauseMs } from './schedule.ts'

/** State of an endpoint that gets no more deliveries, with the reason. */
export type Stop =
  | { readonly state: 'paused'; readonly reason: 'failing' }
  | { readonly state: 'disabled'; readonly reason: 'gone' }

export type Failure = {
  /**
   * True if the endpoint gave no answer, or a status that means that it is unavailable. False if the endpoint refused
   * this event. Then it may accept the next event.
   */
  readonly isDown: boolean
  readonly isGone: boolean
  readonly waitMs: number
}

export type KnownHealth = Pick<Endpoint, 'failures' | 'failingSinceMs' | 'failingDays' | 'lastFailureMs'>

/**
 * Returns true if more time has passed since the last failure than the retries of a delivery can last. The next failure
 * then begins a new series.
 */
function isQuiet(lastFailureMs: number | null, nowMs: number): boolean {
  return lastFailureMs !== null && nowMs - lastFailureMs > WEBHOOK_FAILING_GAP_MS_MAX
}

/** Tracks how an endpoint answers, and limits how much is sent to it. */
export class EndpointHealth {
  #failures: number
  #failingSinceMs: number | null
  /** Number of days since `#failingSinceMs` on which an attempt failed. */
  #failingDays: number
  #lastSuccessMs: number | null = null
  #lastFailureMs: number | null
  #hasFailedNow = false
  /** End of the pause after many failures in a row. A success clears it. */
  #breakerUntilMs = 0
  /** End of the pause that Retry-After or too many open deliveries caused. */
  #retryAfterUntilMs = 0
  #requestsMax: number
  #isGone = false

  constructor(known: KnownHealth, nowMs: number) {
    const { failures, failingSinceMs, failingDays, lastFailureMs } = known
    const isOver = isQuiet(lastFailureMs, nowMs)
    this.#failures = isOver ? 0 : failures
    this.#failingSinceMs = isOver ? null : failingSinceMs
    this.#failingDays = isOver || failingSinceMs === null ? 0 : failingDays
    this.#lastFailureMs = lastFailureMs
    this.#requestsMax = this.#failures === 0 ? WEBHOOK_REQUESTS_FIRST : 1
  }

  /** Maximum number of requests that may be under way at the moment. */
  get requestsMax(): number {
    return this.#requestsMax
  }

  /**
   * True if the next attempt must be a new delivery. For an endpoint that always fails, every second attempt is a new
   * delivery, because the endpoint may refuse only the old deliveries.
   */
  get isNewFirst(): boolean {
    return this.#failures >= WEBHOOK_BREAKER_FAILURES && this.#failures % 2 === 0
  }

  mustWait(nowMs: number): boolean {
    return this.#isGone || nowMs < Math.max(this.#breakerUntilMs, this.#retryAfterUntilMs)
  }

  succeed(nowMs: number): void {
    this.#beginAnew()
    this.#breakerUntilMs = 0
    this.#lastSuccessMs = nowMs
    this.#requestsMax = Math.min(this.#requestsMax + 1, WEBHOOK_REQUESTS_PER_ENDPOINT_MAX)
  }

  fail(nowMs: number, { isDown, isGone, waitMs }: Failure): void {
    if (isQuiet(this.#lastFailureMs, nowMs)) this.#beginAnew()
    // Requests that fail together count as one failure, because an endpoint that restarts fails all of them at once.
    if (nowMs >= this.#breakerUntilMs) {
      this.#failures++
      const pauseMs = isDown ? breakerPauseMs(this.#failures) : refusalPauseMs(this.#failures)
      this.#breakerUntilMs = nowMs + pauseMs
    }
    this.#countDay(nowMs)
    this.#lastFailureMs = nowMs
    this.#hasFailedNow = true
    this.#retryAfterUntilMs = Math.max(this.#retryAfterUntilMs, nowMs + waitMs)
    if (isDown) this.#requestsMax = Math.max(1, Math.floor(this.#requestsMax / 2))
    this.#isGone ||= isGone
  }

  #beginAnew(): void {
    this.#failures = 0
    this.#failingSinceMs = null
    this.#failingDays = 0
  }

  #countDay(nowMs: number): void {
    this.#failingSinceMs ??= nowMs
    const dayOf = (ms: number) => Math.floor((ms - this.#failingSinceMs!) / WEBHOOK_FAILING_DAY_MS)
    if (this.#failingDays === 0 || dayOf(nowMs) > dayOf(this.#lastFailureMs ?? nowMs)) this.#failingDays++
  }

  /**
   * Pauses an endpoint that has the maximum number of open deliveries. After the pause the open deliveries are counted
   * again.
   */
  pause(nowMs: number): void {
    this.#retryAfterUntilMs = Math.max(this.#retryAfterUntilMs, nowMs + WEBHOOK_PAUSE_MS)
  }

  stopOf(nowMs: number): Stop | null {
    if (this.#isGone) return { state: 'disabled', reason: 'gone' }
    // An endpoint without a failed attempt in this lease is not stopped.
    if (!this.#hasFailedNow || this.#failingSinceMs === null) return null
    const hasFailed =
      nowMs - this.#failingSinceMs > WEBHOOK_FAILING_MS_MAX && this.#failingDays >= WEBHOOK_FAILING_DAYS_MIN
    return hasFailed ? { state: 'paused', reason: 'failing' } : null
  }

  toWrite(nowMs: number): Health {
    const waitMs = Math.max(this.#breakerUntilMs, this.#retryAfterUntilMs) - nowMs
    return {
      failures: this.#failures,
      failingSinceMs: this.#failingSinceMs,
      failingDays: this.#failingDays,
      resumeInMs: waitMs > 0 ? waitMs : null,
      lastSuccessMs: this.#lastSuccessMs,
      lastFailureMs: this.#lastFailureMs,
    }
  }
}
