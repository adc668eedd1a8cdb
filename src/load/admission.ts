import { FairQueue } from './fair-queue.ts'
import {
  READS_UNDER_WAY_MAX,
  READS_WAIT_MS_MAX,
  REQUESTS_BURST_MAX,
  REQUESTS_BURST_PER_SECOND,
  REQUESTS_PER_TURN_MAX,
  REQUESTS_UNDER_WAY_MAX,
  TURN_BYTES_MAX,
  UNPROVEN_BURST_MAX,
  UNPROVEN_BURST_PER_SECOND,
  UNPROVEN_UNDER_WAY_MAX,
} from './limits.ts'
import { Places } from './places.ts'
import { UNPROVEN } from './unproven.ts'

/** Kinds of requests that have places of their own. */
export type RequestKind = 'reads' | 'writes'

/** The named limits, unless a test has smaller ones. */
const LIMITS = {
  underWayMax: REQUESTS_UNDER_WAY_MAX,
  reads: { max: READS_UNDER_WAY_MAX, waitMs: READS_WAIT_MS_MAX },
  burstMax: REQUESTS_BURST_MAX,
  burstPerSecond: REQUESTS_BURST_PER_SECOND,
  unproven: {
    underWayMax: UNPROVEN_UNDER_WAY_MAX,
    burstMax: UNPROVEN_BURST_MAX,
    burstPerSecond: UNPROVEN_BURST_PER_SECOND,
  },
  perTurnMax: REQUESTS_PER_TURN_MAX,
  turnBytesMax: TURN_BYTES_MAX,
}

/** Serving a request costs about 150 µs of CPU, refusing one 30 µs: one is worth five refusals. */
const REFUSALS_PER_REQUEST = 5

type Waiting = {
  readonly owner: string
  readonly kind: RequestKind
  readonly bytes: number
  readonly sinceMs: number
  readonly begin: () => void
}

/**
 * How many requests a process works at, and when it begins each.
 *
 * A request beyond REQUESTS_UNDER_WAY_MAX would wait for the processor, and make all others wait longer by as much:
 * past the ceiling every request would take as long as the clients' patience. So the rest is refused at once, but for
 * bursts (places.ts). Reads have places of their own, and more of them where they are cheap: they take a fraction of a write's time, and a
 * server that has all the writes that it can do is asked for records no less.
 *
 * Accepted requests begin a few at a time, in each slice of the event loop, because a request that must be refused is not seen before the
 * slice ends. (256 that all begin when they are seen make slices of 50 ms.) They begin round-robin by owner, so a request of a quiet owner
 * begins in the next slice, however many requests of a busy owner wait.
 *
 * An owner is a ledger, the operator, or the peers of a ledger, each proven (src/http/connections/prove.ts). All other requests belong to UNPROVEN,
 * which has places of its own: no proven request is refused because of them.
 */
export class Admission {
  readonly #places: Readonly<Record<RequestKind, Places>>
  readonly #unproven: Places
  readonly #now: () => number
  readonly #limits: typeof LIMITS
  readonly #observeWait: (ms: number) => void
  readonly #waiting = new FairQueue<Waiting>()
  /** Without UNPROVEN. */
  readonly #waitingOf: Record<RequestKind, number> = { reads: 0, writes: 0 }
  #refusedBefore = 0

  /** `observeWait` hears how long each request waited to begin. */
  constructor(now: () => number, limits = LIMITS, observeWait: (ms: number) => void = () => {}) {
    this.#now = now
    this.#limits = limits
    this.#observeWait = observeWait
    this.#places = {
      reads: new Places(now, { ...limits, fast: limits.reads }),
      writes: new Places(now, limits),
    }
    this.#unproven = new Places(now, limits.unproven)
  }

  /** Whether one more may come. MUST be followed by its `begin`. `owner`: proven, or UNPROVEN. */
  admits(kind: RequestKind, owner: string): boolean {
    return this.#placesOf(kind, owner).admits(owner)
  }

  /** Begins it, soon. `bytes`: of its body, as far as that is known. */
  begin(kind: RequestKind, bytes: number, owner: string, begin: () => void): void {
    this.#placesOf(kind, owner).enter(owner)
    const isFirst = this.#waiting.size === 0
    this.#waiting.add(owner, { owner, kind, bytes, sinceMs: this.#now(), begin })
    if (owner !== UNPROVEN) this.#waitingOf[kind]++
    if (isFirst) setImmediate(this.#beginSome)
  }

  /** It has arrived whole, from somebody who may: from now on it counts. MUST be followed by one `leave`. */
  enter(kind: RequestKind, owner: string): void {
    this.#placesOf(kind, owner).enter(owner)
  }

  leave(kind: RequestKind, owner: string): void {
    const places = this.#placesOf(kind, owner)
    places.leave(owner)
    places.answer()
  }

  /** Requests that are worked at, or begin soon. */
  get underWay(): number {
    return this.#places.reads.taken + this.#places.writes.taken + this.#unproven.taken
  }

  /** Requests of proven owners that were taken and have not begun. */
  waiting(kind: RequestKind): number {
    return this.#waitingOf[kind]
  }

  /** Since the process began. */
  get refused(): number {
    return this.#places.reads.refused + this.#places.writes.refused + this.#unproven.refused
  }

  /** Those of them whose sender had proven nothing. */
  get refusedUnproven(): number {
    return this.#unproven.refused
  }

  #placesOf(kind: RequestKind, owner: string): Places {
    return owner === UNPROVEN ? this.#unproven : this.#places[kind]
  }

  readonly #beginSome = (): void => {
    let bytes = 0
    // Where the turn went by with refusing, as much again for those that were taken: they are who is served.
    const { refused } = this
    const max = this.#limits.perTurnMax + Math.floor((refused - this.#refusedBefore) / REFUSALS_PER_REQUEST)
    this.#refusedBefore = refused
    for (let i = 0; i < max && bytes < this.#limits.turnBytesMax; i++) {
      const next = this.#waiting.next()
      if (!next) return
      this.#begin(next)
      bytes += next.bytes
    }
    if (this.#waiting.size > 0) setImmediate(this.#beginSome)
  }

  #begin({ owner, kind, sinceMs, begin }: Waiting): void {
    if (owner !== UNPROVEN) this.#waitingOf[kind]--
    this.#placesOf(kind, owner).leave(owner)
    this.#observeWait(this.#now() - sinceMs)
    begin()
  }
}
