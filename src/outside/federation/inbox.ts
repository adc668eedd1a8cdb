import { ApiError } from '../../errors.ts'
import { FairQueue } from '../../load/fair-queue.ts'
import { Shares } from '../../load/shares.ts'
import type { PeeringIds } from './authenticate.ts'
import { PEER_REQUESTS_AT_ONCE, PEER_REQUESTS_OF_ONE_MAX, PEER_REQUESTS_WAITING_MAX } from './limits.ts'

/** The peering that a request is of. */
type Of = Pick<PeeringIds, 'ledger' | 'peer'>

/**
 * Requests of peers that append: a few at once, one at most of each ledger. The others wait, beyond a number they are refused, and of
 * one peer beyond a few, or it would have all the places to itself. The peers of a ledger have half of what the others leave, together: a tenant can have
 * a thousand, all of them its own.
 *
 * Ledgers take turns, and so do the peers of a ledger: each has one request in the line at most, and its next one enters when that
 * has ended, in the order in which they came. So a peer has two under way, one that is checked while the other one is appended,
 * and no peer waits for more than one request of any other.
 */
export class Inbox {
  /** By ledger; of each peer one request waits. */
  readonly #waiting = new FairQueue<() => void>()
  readonly #places = new Shares({ rule: 'rest', max: PEER_REQUESTS_WAITING_MAX })
  /** By ledger and peer: requests under way and waiting, and the end of the last of them. */
  readonly #ofPeering = new Map<string, { count: number; last: Promise<void> }>()
  /** Ledgers of which a request is appended now. */
  readonly #busy = new Set<string>()

  /**
   * `prepare` runs before it is this request's turn, so that slow work for one peer holds up no other. Throws
   * `overloaded`, `rate_limited`, or what `prepare` and `work` throw.
   */
  async run<T, Prepared = undefined>(
    of: Of,
    work: (prepared: Prepared) => Promise<T>,
    prepare?: () => Promise<Prepared>,
  ): Promise<T> {
    const { before, end } = this.#enter(of)
    try {
      const prepared = (prepare && (await prepare())) as Prepared
      if (before !== null) await before
      return await this.#inTurn(of.ledger, () => work(prepared))
    } finally {
      end()
    }
  }

  /** Requests that only wait for their turn. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** `before`: the end of the peer's request before this one; null: it has none. `end` MUST be called once. */
  #enter({ ledger, peer }: Of): { readonly before: Promise<void> | null; readonly end: () => void } {
    const name = `${ledger} ${peer}`
    const known = this.#ofPeering.get(name)
    if (known && known.count >= PEER_REQUESTS_OF_ONE_MAX) {
      throw new ApiError('rate_limited', `${known.count} requests of this peer have no answer yet`, {
        retryable: true,
        retryAfterMs: 1_000,
      })
    }
    const before = known?.last ?? null
    const { promise, resolve } = Promise.withResolvers<void>()
    // One that fails before its turn has ended only when those before it have.
    const last = before === null ? promise : Promise.all([before, promise]).then(() => {})
    const own = known ?? { count: 0, last }
    own.count++
    own.last = last
    this.#ofPeering.set(name, own)
    const end = () => {
      if (--own.count === 0) this.#ofPeering.delete(name)
      resolve()
    }
    return { before, end }
  }

  async #inTurn<T>(ledger: string, work: () => Promise<T>): Promise<T> {
    if (this.#busy.size >= PEER_REQUESTS_AT_ONCE || this.#busy.has(ledger)) await this.#wait(ledger)
    else this.#busy.add(ledger)
    try {
      return await work()
    } finally {
      this.#busy.delete(ledger)
      this.#beginNext()
    }
  }

  async #wait(ledger: string): Promise<void> {
    if (!this.#places.admits(ledger)) {
      throw new ApiError('overloaded', 'too many peers send at once: nothing was done', {
        retryable: true,
        retryAfterMs: 1_000,
      })
    }
    this.#places.take(ledger)
    await new Promise<void>((resolve) =>
      this.#waiting.add(ledger, () => {
        this.#places.release(ledger)
        this.#busy.add(ledger)
        resolve()
      }),
    )
  }

  /** Begins the next one of the first ledger for which nothing is appended; that ledger is the last one then. */
  #beginNext(): void {
    this.#waiting.next((ledger) => !this.#busy.has(ledger))?.()
  }
}
