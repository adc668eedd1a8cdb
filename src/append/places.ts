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
 * Places of requests under way.
 *
 * Bursts are taken beyond them: requests that come at one moment, to a server that has time, are worked off in a fraction of a second.
 * They are a store that fills up again slowly (a token bucket), so that a load which stays is held to the places.
 *
 * Where requests are cheap more of them are taken, as many as are answered while the last one waits as long as it may.
 *
 * No ledger can have the places to itself while others come: a ledger that has fewer than an equal share of them is
 * taken nevertheless. (Requests that wait for something else than the processor, such as their ledger's share of time
 * for its types, would otherwise fill all of them with ten requests a second.)
 */
export class Places {
  readonly #now: () => number
  readonly #limits: PlaceLimits
  /** How many each ledger has, of those that have any. */
  readonly #ofLedger = new Map<string, number>()
  #taken = 0
  #underWayMax: number
  #answered = 0
  #countedAtMs: number
  #burst: number
  #filledAtMs: number
  #refused = 0

  constructor(now: () => number, limits: PlaceLimits) {
    this.#now = now
    this.#limits = limits
    this.#underWayMax = limits.underWayMax
    this.#countedAtMs = now()
    this.#burst = limits.burstMax
    this.#filledAtMs = now()
  }

  /** Whether one more may come; if not, that counts as a refusal. */
  admits(ledger: string | null): boolean {
    if (this.#taken < this.#countPlaces() || this.#hasTooFew(ledger) || this.#takeBurst()) return true
    this.#refused++
    return false
  }

  /** MUST be followed by one `leave`. */
  enter(ledger: string | null): void {
    this.#count(ledger, 1)
  }

  leave(ledger: string | null): void {
    this.#count(ledger, -1)
  }

  /** One of those that left has been answered. */
  answer(): void {
    this.#answered++
  }

  get taken(): number {
    return this.#taken
  }

  /** Since the process began. */
  get refused(): number {
    return this.#refused
  }

  #hasTooFew(ledger: string | null): boolean {
    if (ledger === null) return false
    const own = this.#ofLedger.get(ledger) ?? 0
    const ledgers = this.#ofLedger.size + (own === 0 ? 1 : 0)
    return own + 1 <= this.#underWayMax / ledgers
  }

  /** From what was answered lately: half of it in the last period, the rest in those before. */
  #countPlaces(): number {
    const { fast, underWayMax } = this.#limits
    const passedMs = this.#now() - this.#countedAtMs
    if (!fast || passedMs < COUNT_EVERY_MS) return this.#underWayMax
    const places = (this.#answered * fast.waitMs) / passedMs
    this.#underWayMax = Math.min(fast.max, Math.max(underWayMax, (this.#underWayMax + places) / 2))
    this.#answered = 0
    this.#countedAtMs += passedMs
    return this.#underWayMax
  }

  #count(ledger: string | null, sign: 1 | -1): void {
    this.#taken += sign
    if (ledger === null) return
    const places = (this.#ofLedger.get(ledger) ?? 0) + sign
    if (places === 0) this.#ofLedger.delete(ledger)
    else this.#ofLedger.set(ledger, places)
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
