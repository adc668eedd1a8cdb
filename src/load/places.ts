import { Shares } from './shares.ts'

/** How often it is counted how many were answered. */
const COUNT_EVERY_MS = 250

type PlaceLimits = {
  readonly underWayMax: number
  /** Takes more than these, as far as so many are answered in `waitMs`, up to `max`. Absent: never. */
  readonly fast?: { readonly max: number; readonly waitMs: number }
  readonly burstMax: number
  readonly burstPerSecond: number
}

/**
 * Places of requests under way, in equal shares (shares.ts): requests that wait for something else than the processor, such as their
 * ledger's share of time for its types, would otherwise fill all places with ten requests a second.
 *
 * Bursts are taken beyond the places: requests that come at one moment, to a server that has time, are worked off in a fraction of a
 * second. They are a store that fills up again slowly (a token bucket), so that a load which stays is held to the places.
 *
 * Where requests are cheap more of them are taken, as many as are answered while the last one waits as long as it may.
 */
export class Places {
  readonly #now: () => number
  readonly #limits: PlaceLimits
  readonly #shares: Shares
  #answered = 0
  #countedAtMs: number
  #burst: number
  #filledAtMs: number
  #refused = 0

  constructor(now: () => number, limits: PlaceLimits) {
    this.#now = now
    this.#limits = limits
    const { underWayMax } = limits
    this.#shares = new Shares({ rule: 'equal', max: underWayMax, unprovenMax: underWayMax })
    this.#countedAtMs = now()
    this.#burst = limits.burstMax
    this.#filledAtMs = now()
  }

  /** Whether one more may come; if not, that counts as a refusal. */
  admits(owner: string): boolean {
    this.#countPlaces()
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

  /** One of those that left has been answered. */
  answer(): void {
    this.#answered++
  }

  get taken(): number {
    return this.#shares.taken
  }

  /** Since the process began. */
  get refused(): number {
    return this.#refused
  }

  /** From what was answered lately: half of it in the last period, the rest in those before. */
  #countPlaces(): void {
    const { fast, underWayMax } = this.#limits
    if (!fast) return
    const passedMs = this.#now() - this.#countedAtMs
    if (passedMs < COUNT_EVERY_MS) return
    const places = (this.#answered * fast.waitMs) / passedMs
    this.#shares.max = Math.min(fast.max, Math.max(underWayMax, (this.#shares.max + places) / 2))
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
