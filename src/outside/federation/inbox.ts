import { ApiError } from '../../errors.ts'
import { FairQueue } from '../../load/fair-queue.ts'
import { Shares } from '../../load/shares.ts'
import type { PeeringIds } from './authenticate.ts'
import { PEER_REQUESTS_AT_ONCE, PEER_REQUESTS_PER_PEERING_MAX, PEER_REQUESTS_WAITING_MAX } from './limits.ts'

type PeeringName = Pick<PeeringIds, 'ledger' | 'peer'>

/**
 * Queues those requests of peers that append entries. A few requests run at a time, at most one for each ledger. The
 * other requests wait, up to a limit.
 *
 * One peer may have only a few requests here; otherwise it would take all slots. One tenant can control a thousand
 * peers. So the peers of one ledger together may have only half of the slots that other ledgers leave.
 *
 * Ledgers are served round-robin, and so are the peers of a ledger. Each peer has at most one request in the queue. The
 * peer's next request is checked meanwhile, and enters the queue when the first request has ended. So no peer waits for
 * more than one request of any other peer.
 */
export class Inbox {
  /** Queues the waiting requests of each ledger. Each peer has at most one waiting request. */
  readonly #waiting = new FairQueue<() => void>()
  readonly #places = new Shares({ rule: 'rest', max: PEER_REQUESTS_WAITING_MAX })
  /**
   * Maps a ledger and peer to the number of their unfinished requests, and to a promise that resolves at the end of the
   * last request.
   */
  readonly #ofPeering = new Map<string, { count: number; last: Promise<void> }>()
  /** Ledgers for which a request is being appended. */
  readonly #busy = new Set<string>()

  /**
   * Runs `work` when a slot is free. `prepare` runs before the request takes a slot, so that slow work for one peer
   * does not delay other peers. Throws `overloaded`, `rate_limited`, or the errors of `prepare` and `work`.
   */
  async run<T, Prepared = undefined>(
    of: PeeringName,
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

  /** Number of requests that wait for a slot. Requests of a peer that wait for its previous request do not count. */
  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Registers a request. `before`: resolves at the end of the peer's previous request. null if the peer has no previous
   * request. The caller MUST call `end` once.
   */
  #enter({ ledger, peer }: PeeringName): { readonly before: Promise<void> | null; readonly end: () => void } {
    const name = `${ledger} ${peer}`
    const known = this.#ofPeering.get(name)
    if (known && known.count >= PEER_REQUESTS_PER_PEERING_MAX) {
      throw new ApiError('rate_limited', `${known.count} requests of this peer are not answered yet`, {
        retryable: true,
        retryAfterMs: 1_000,
      })
    }
    const before = known?.last ?? null
    const { promise, resolve } = Promise.withResolvers<void>()
    // `last` also waits for all earlier requests, because this request may fail before they have ended.
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

  /**
   * Starts the next request of the first ledger that has no running request. That ledger then moves to the end of the
   * queue.
   */
  #beginNext(): void {
    this.#waiting.next((ledger) => !this.#busy.has(ledger))?.()
  }
}
