import { ApiError } from '../errors.ts'
import { Shares } from './shares.ts'

/**
 * A third, because each slot may be taken for an hour: twelve owners that take all they can still leave some of a
 * hundred to others.
 */
const OF_REST = 1 / 3

/**
 * Limits long answers of one kind by owner: streams and long polls. An answer that nobody reads stays in memory, and
 * pipelining makes hundreds of them cheap to request. UNPROVEN has as many slots as one ledger, in addition to those
 * of all ledgers.
 */
export class Slots {
  readonly #shares: Shares

  constructor(perLedgerMax: number, allMax: number) {
    const limits = { max: allMax, ofOwnerMax: perLedgerMax, unprovenMax: perLedgerMax }
    this.#shares = new Shares({ rule: 'rest', ofRest: OF_REST, ...limits })
  }

  get open(): number {
    return this.#shares.taken
  }

  get refused(): number {
    return this.#shares.refused
  }

  /**
   * Takes a slot and returns the function that releases it. Throws ApiError `overloaded` if the owner has no slot
   * left.
   */
  take(owner: string): () => void {
    if (!this.#shares.admits(owner)) {
      throw new ApiError(
        'overloaded',
        `too many long reads or waits are open (${this.#shares.of(owner)} of this ledger): try again later`,
        { retryable: true, retryAfterMs: 1_000 },
      )
    }
    this.#shares.take(owner)
    return () => this.#shares.release(owner)
  }
}
