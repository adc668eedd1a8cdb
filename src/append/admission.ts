import {
  REQUESTS_BURST_MAX,
  REQUESTS_BURST_PER_SECOND,
  REQUESTS_PER_TURN_MAX,
  REQUESTS_UNDER_WAY_MAX,
  TURN_BYTES_MAX,
} from './limits.ts'

/** The named limits, unless a test has smaller ones. */
const LIMITS = {
  underWayMax: REQUESTS_UNDER_WAY_MAX,
  burstMax: REQUESTS_BURST_MAX,
  burstPerSecond: REQUESTS_BURST_PER_SECOND,
  perTurnMax: REQUESTS_PER_TURN_MAX,
  turnBytesMax: TURN_BYTES_MAX,
}

/** Serving a request costs about 150 µs of CPU, refusing one 30 µs: one is worth five refusals. */
const REFUSALS_PER_REQUEST = 5

type Waiting = { readonly bytes: number; readonly ledger: string | null; readonly begin: () => void }

/**
 * How many requests a process works at, and when it begins each.
 *
 * A request beyond REQUESTS_UNDER_WAY_MAX would wait for the processor, and make all others wait longer by as much:
 * past the ceiling every request would take as long as the clients' patience. So the rest is refused at once, but for a
 * burst: requests that come at one moment, to a server that has time, are worked off in a fraction of a second. Bursts
 * are a store that fills up again slowly (a token bucket), so that a load which stays is held to the smaller number.
 *
 * No ledger can have the places to itself while others come: a ledger that has fewer than an equal share of them is
 * taken nevertheless. (Requests that wait for something else than the processor, such as their ledger's share of time
 * for its types, would otherwise fill all of them with ten requests a second.)
 *
 * Those that are taken begin a few at a time, in a turn of the event loop each: one that has to be refused is not seen before the
 * turn ends. (256 that all begin when they are seen make turns of 50 ms.)
 */
export class Admission {
  readonly #now: () => number
  readonly #limits: typeof LIMITS
  readonly #waiting: Waiting[] = []
  /** How many each ledger has, of those that have any. */
  readonly #places = new Map<string, number>()
  #underWay = 0
  #burst: number
  #filledAtMs: number
  #refused = 0
  #refusedBefore = 0

  constructor(now: () => number, limits = LIMITS) {
    this.#now = now
    this.#limits = limits
    this.#burst = limits.burstMax
    this.#filledAtMs = now()
  }

  /**
   * Whether one more may come. MUST be followed by its `begin`. `ledger`: the one that it says it is of; nobody has looked at its key.
   */
  admits(ledger: string | null = null): boolean {
    if (this.underWay < this.#limits.underWayMax || this.#hasTooFew(ledger) || this.#takeBurst()) return true
    this.#refused++
    return false
  }

  /** Begins it, soon. `bytes`: of its body, as far as that is known. */
  begin(bytes: number, ledger: string | null, begin: () => void): void {
    this.#count(ledger, 1)
    this.#waiting.push({ bytes, ledger, begin })
    if (this.#waiting.length === 1) setImmediate(this.#beginSome)
  }

  /** It has arrived whole, from somebody who may: from now on it counts. MUST be followed by one `leave`. */
  enter(ledger: string | null = null): void {
    this.#underWay++
    this.#count(ledger, 1)
  }

  leave(ledger: string | null = null): void {
    this.#underWay--
    this.#count(ledger, -1)
  }

  get underWay(): number {
    return this.#waiting.length + this.#underWay
  }

  /** Requests that were taken and have not begun. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Since the process began. */
  get refused(): number {
    return this.#refused
  }

  readonly #beginSome = (): void => {
    let bytes = 0
    // Where the turn went by with refusing, as much again for those that were taken: they are who is served.
    const refused = this.#refused - this.#refusedBefore
    this.#refusedBefore = this.#refused
    const max = this.#limits.perTurnMax + Math.floor(refused / REFUSALS_PER_REQUEST)
    for (let i = 0; i < max && bytes < this.#limits.turnBytesMax; i++) {
      const next = this.#waiting.shift()
      if (!next) return
      bytes += next.bytes
      this.#count(next.ledger, -1)
      next.begin()
    }
    if (this.#waiting.length > 0) setImmediate(this.#beginSome)
  }

  #hasTooFew(ledger: string | null): boolean {
    if (ledger === null) return false
    const own = this.#places.get(ledger) ?? 0
    const ledgers = this.#places.size + (own === 0 ? 1 : 0)
    return own + 1 <= this.#limits.underWayMax / ledgers
  }

  #count(ledger: string | null, sign: 1 | -1): void {
    if (ledger === null) return
    const places = (this.#places.get(ledger) ?? 0) + sign
    if (places === 0) this.#places.delete(ledger)
    else this.#places.set(ledger, places)
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
