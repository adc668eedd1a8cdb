import { Shares } from './shares.ts'

/** Interval in ms at which the limit is adjusted. */
const COUNT_EVERY_MS = 250

type SlotLimits = {
  readonly underWayMax: number
  /**
   * Raises the limit to the number of requests that are answered within `waitMs`, but at most to `max`. If absent, the
   * limit is fixed.
   */
  readonly fast?: { readonly max: number; readonly waitMs: number }
  readonly burstMax: number
  readonly burstPerSecond: number
}

/**
 * A limit of requests under way that owners share equally (shares.ts).
 *
 * Without shares, one ledger could use up the whole limit with ten requests a second, if these requests wait for
 * something other than the processor. For example, they may wait for the ledger's share of time for its types.
 *
 * Bursts are accepted beyond the limit, because requests that arrive together at an idle server are served in a
 * fraction of a second. Each request of a burst takes a token from a bucket that refills slowly. So a lasting load
 * stays within the limit.
 *
 * With `fast`, the limit grows while requests are cheap: as many requests are accepted as the server answers within
 * `waitMs`.
 */
export class RequestSlots {
  readonly #now: () => number
  readonly #limits: SlotLimits
  readonly #shares: Shares
  #answered = 0
  #countedAtMs: number
  #burst: number
  #filledAtMs: number
  #refused = 0

  constructor(now: () => number, limits: SlotLimits) {
    this.#now = now
    this.#limits = limits
    const { underWayMax } = limits
    this.#shares = new Shares({ rule: 'equal', max: underWayMax, unprovenMax: underWayMax })
    this.#countedAtMs = now()
    this.#burst = limits.burstMax
    this.#filledAtMs = now()
  }

  /** Returns true if one more request is accepted. Otherwise counts a refusal. */
  admits(owner: string): boolean {
    this.#adjustLimit()
    if (this.#shares.hasRoom(owner) || this.#takeBurst()) return true
    this.#refused++
    return false
  }

  /** Counts a request of the owner. The caller MUST call `leave` once afterwards. */
  enter(owner: string): void {
    this.#shares.take(owner)
  }

  leave(owner: string): void {
    this.#shares.release(owner)
  }

  /** Counts an answered request. With `fast`, the limit depends on this count. */
  answer(): void {
    this.#answered++
  }

  get taken(): number {
    return this.#shares.taken
  }

  get refused(): number {
    return this.#refused
  }

  /**
   * Sets the limit to the mean of two numbers: the old limit, and the number of requests that would have been answered
   * within `waitMs` at the rate of the last period.
   */
  #adjustLimit(): void {
    const { fast, underWayMax } = this.#limits
    if (!fast) return
    const passedMs = this.#now() - this.#countedAtMs
    if (passedMs < COUNT_EVERY_MS) return
    const slots = (this.#answered * fast.waitMs) / passedMs
    this.#shares.max = Math.min(fast.max, Math.max(underWayMax, (this.#shares.max + slots) / 2))
    this.#answered = 0
    this.#countedAtMs += passedMs
  }

  #takeBurst(): boolean {
    const nowMs = this.#now()
    const refilled = this.#burst + ((nowMs - this.#filledAtMs) / 1_000) * this.#limits.burstPerSecond
    this.#filledAtMs = nowMs
    this.#burst = Math.min(refilled, this.#limits.burstMax)
    if (this.#burst < 1) return false
    this.#burst--
    return true
  }
}
