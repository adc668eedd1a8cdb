import { Shares } from './shares.ts'

/** How often the limit is computed anew. */
const COUNT_EVERY_MS = 250

type SlotLimits = {
  readonly underWayMax: number
  /** Raises the limit to as many requests as are answered in `waitMs`, up to `max`. Absent: the limit is fixed. */
  readonly fast?: { readonly max: number; readonly waitMs: number }
  readonly burstMax: number
  readonly burstPerSecond: number
}

/**
 * Limit of requests under way, shared equally among owners (shares.ts). Without shares, requests that wait for
 * something other than the processor, such as their ledger's share of time for its types, would take the whole limit
 * at ten requests a second.
 *
 * Bursts are accepted beyond the limit. Requests that arrive together at an idle server are served in a fraction of a
 * second. Bursts draw from a token bucket that refills slowly, so a lasting load stays within the limit.
 *
 * With `fast`, the limit grows where requests are cheap: as many are accepted as the server answers within `waitMs`.
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

  /** Returns whether one more request may come. Counts a refusal if not. */
  admits(owner: string): boolean {
    this.#adjustLimit()
    if (this.#shares.hasRoom(owner) || this.#takeBurst()) return true
    this.#refused++
    return false
  }

  /** MUST be followed by one `leave`. */
  enter(owner: string): void {
    this.#shares.take(owner)
  }

  leave(owner: string): void {
    this.#shares.release(owner)
  }

  /** Counts that a request which left has been answered. */
  answer(): void {
    this.#answered++
  }

  get taken(): number {
    return this.#shares.taken
  }

  get refused(): number {
    return this.#refused
  }

  /** Sets the limit from recent answers: half the weight is on the last period, the rest on those before. */
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
