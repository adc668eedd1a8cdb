import type { RateLimit } from '../db/ledgers/rate-limits.ts'
import { RATE_LIMIT_BUCKETS_MAX } from './limits.ts'

export type { RateLimit }

/** Tolerance for rounding errors. Without it, the last request of a burst could be refused. */
const ROUNDING_MS = 0.001

/** State of a rate limit after a charge. `remaining`: number of requests that the limit would accept at once. */
export type RateLimitState = {
  readonly limit: RateLimit
  readonly remaining: number
  /** Time in ms after which the whole burst is available again. */
  readonly fullInMs: number
}

type Charge =
  | { readonly allowed: true; readonly states: readonly RateLimitState[] }
  | {
      readonly allowed: false
      readonly states: readonly RateLimitState[]
      /** For each limit: true if it does not allow the request. */
      readonly refusing: readonly boolean[]
      readonly retryAfterMs: number
    }

/**
 * A limit, and the caller to whom it applies. `name`: kind of the limit, as in the headers. `id`: identifies the caller
 * within this kind.
 */
export type Limited = {
  readonly name: string
  readonly id: string
  readonly limit: RateLimit
}

type Bucket = { readonly limit: RateLimit; fullAtMs: number }

/**
 * Rate limits as token buckets. For each bucket, only the time at which it will be full again is stored (GCRA). So a
 * bucket is one number and needs no timer. The buckets are local to the process: with N servers, a client gets up to N
 * times its limit. The clock MUST never go back.
 */
export class RateLimits {
  readonly #now: () => number
  /**
   * Maps a kind of limit to its buckets. Each kind has its own maximum number of buckets. A ledger can make any number
   * of keys and peerings. Their buckets must not push out the bucket of the ledger itself, whose limit the operator has
   * set.
   */
  readonly #buckets = new Map<string, Map<string, Bucket>>()

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Takes one request from every bucket. If one of the buckets does not allow the request, takes nothing from any
   * bucket.
   */
  charge(limited: readonly Limited[]): Charge {
    const nowMs = this.#now()
    const buckets = limited.map((one) => this.#bucketOf(one))
    const waits = buckets.map(
      ({ limit, fullAtMs }) => Math.max(fullAtMs, nowMs) + intervalMs(limit) * (1 - limit.burst) - nowMs,
    )
    const retryAfterMs = Math.max(...waits)
    const allowed = retryAfterMs <= ROUNDING_MS
    if (allowed) for (const bucket of buckets) take(bucket, 1, nowMs)
    const states = buckets.map((bucket) => stateOf(bucket, nowMs))
    if (allowed) return { allowed, states }
    return { allowed, states, refusing: waits.map((wait) => wait > ROUNDING_MS), retryAfterMs }
  }

  /**
   * Takes more from the buckets, for a request that was already accepted. This may overdraw a bucket, which delays
   * later requests.
   */
  chargeMore(limited: readonly Limited[], requests: number): void {
    for (const one of limited) take(this.#bucketOf(one), requests, this.#now())
  }

  #bucketOf({ name, id, limit }: Limited): Bucket {
    const buckets = this.#buckets.get(name) ?? new Map<string, Bucket>()
    this.#buckets.set(name, buckets)
    const known = buckets.get(id)
    if (known && isSame(known.limit, limit)) return known
    // The oldest bucket is dropped. This only gives its owner the whole burst again.
    if (buckets.size >= RATE_LIMIT_BUCKETS_MAX) buckets.delete(buckets.keys().next().value!)
    const bucket = { limit, fullAtMs: 0 }
    buckets.set(id, bucket)
    return bucket
  }
}

function take(bucket: Bucket, requests: number, nowMs: number): void {
  bucket.fullAtMs = Math.max(bucket.fullAtMs, nowMs) + requests * intervalMs(bucket.limit)
}

function stateOf({ limit, fullAtMs }: Bucket, nowMs: number): RateLimitState {
  const fullInMs = Math.max(0, fullAtMs - nowMs - ROUNDING_MS)
  return { limit, fullInMs, remaining: Math.max(0, Math.floor(limit.burst - fullInMs / intervalMs(limit))) }
}

function intervalMs(limit: RateLimit): number {
  return 1_000 / limit.requestsPerSecond
}

function isSame(one: RateLimit, other: RateLimit): boolean {
  return one.requestsPerSecond === other.requestsPerSecond && one.burst === other.burst
}
