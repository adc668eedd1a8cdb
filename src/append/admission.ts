import {
  READS_UNDER_WAY_MAX,
  READS_WAIT_MS_MAX,
  REQUESTS_BURST_MAX,
  REQUESTS_BURST_PER_SECOND,
  REQUESTS_PER_TURN_MAX,
  REQUESTS_UNDER_WAY_MAX,
  TURN_BYTES_MAX,
} from './limits.ts'
import { Places } from './places.ts'

/** Kinds of requests that have places of their own. */
export type RequestKind = 'reads' | 'writes'

/** The named limits, unless a test has smaller ones. */
const LIMITS = {
  underWayMax: REQUESTS_UNDER_WAY_MAX,
  reads: { max: READS_UNDER_WAY_MAX, waitMs: READS_WAIT_MS_MAX },
  burstMax: REQUESTS_BURST_MAX,
  burstPerSecond: REQUESTS_BURST_PER_SECOND,
  perTurnMax: REQUESTS_PER_TURN_MAX,
  turnBytesMax: TURN_BYTES_MAX,
}

/** Serving a request costs about 150 µs of CPU, refusing one 30 µs: one is worth five refusals. */
const REFUSALS_PER_REQUEST = 5

type Waiting = {
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
 * Those that are taken begin a few at a time, in a turn of the event loop each: one that has to be refused is not seen before the
 * turn ends. (256 that all begin when they are seen make turns of 50 ms.) Ledgers take turns, so that the request of a quiet one begins
 * in the next turn, however many of a busy one wait.
 */
export class Admission {
  readonly #places: Readonly<Record<RequestKind, Places>>
  readonly #now: () => number
  readonly #limits: typeof LIMITS
  readonly #observeWait: (ms: number) => void
  /** By ledger, those whose turn is next first. */
  readonly #waiting = new Map<string | null, Waiting[]>()
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
  }

  /**
   * Whether one more may come. MUST be followed by its `begin`. `ledger`: the one that it says it is of; nobody has looked at its key.
   */
  admits(kind: RequestKind, ledger: string | null = null): boolean {
    return this.#places[kind].admits(ledger)
  }

  /** Begins it, soon. `bytes`: of its body, as far as that is known. */
  begin(kind: RequestKind, bytes: number, ledger: string | null, begin: () => void): void {
    this.#places[kind].enter(ledger)
    const isFirst = this.#waiting.size === 0
    const queue = this.#waiting.get(ledger)
    const waiting = { kind, bytes, sinceMs: this.#now(), begin }
    if (queue) queue.push(waiting)
    else this.#waiting.set(ledger, [waiting])
    this.#waitingOf[kind]++
    if (isFirst) setImmediate(this.#beginSome)
  }

  /** It has arrived whole, from somebody who may: from now on it counts. MUST be followed by one `leave`. */
  enter(kind: RequestKind, ledger: string | null = null): void {
    this.#places[kind].enter(ledger)
  }

  leave(kind: RequestKind, ledger: string | null = null): void {
    this.#places[kind].leave(ledger)
    // A request without a ledger says nothing about how long those with one take: a probe costs nothing.
    if (ledger !== null) this.#places[kind].answer()
  }

  /** Requests that are worked at, or begin soon. */
  get underWay(): number {
    return this.#places.reads.taken + this.#places.writes.taken
  }

  /** Requests that were taken and have not begun. */
  waiting(kind: RequestKind): number {
    return this.#waitingOf[kind]
  }

  /** Since the process began. */
  get refused(): number {
    return this.#places.reads.refused + this.#places.writes.refused
  }

  readonly #beginSome = (): void => {
    let bytes = 0
    // Where the turn went by with refusing, as much again for those that were taken: they are who is served.
    const { refused } = this
    const max = this.#limits.perTurnMax + Math.floor((refused - this.#refusedBefore) / REFUSALS_PER_REQUEST)
    this.#refusedBefore = refused
    for (let i = 0; i < max && bytes < this.#limits.turnBytesMax; i++) {
      const [first] = this.#waiting
      if (!first) return
      const [ledger, queue] = first
      bytes += this.#beginFirst(ledger, queue)
    }
    if (this.#waiting.size > 0) setImmediate(this.#beginSome)
  }

  /** Answers how many bytes it has. */
  #beginFirst(ledger: string | null, queue: Waiting[]): number {
    const { kind, bytes, sinceMs, begin } = queue.shift()!
    // Behind all other ledgers.
    this.#waiting.delete(ledger)
    if (queue.length > 0) this.#waiting.set(ledger, queue)
    this.#waitingOf[kind]--
    this.#places[kind].leave(ledger)
    this.#observeWait(this.#now() - sinceMs)
    begin()
    return bytes
  }
}
