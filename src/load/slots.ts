import { ApiError } from '../errors.ts'
import { Shares } from './shares.ts'

/**
 * Fraction for the rule `rest` (shares.ts). It is small, because a slot may be in use for an hour. If twelve owners
 * take all slots that they can get, some of a hundred slots are still free.
 */
const OF_REST = 1 / 3

/**
 * Limits the number of long answers of one kind, such as streams and long polls, by owner. An answer that nobody reads
 * stays in memory, and with pipelining a client can request hundreds of answers cheaply. UNPROVEN has as many slots as
 * one ledger, in addition to the slots of the ledgers.
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
   * Takes a slot, and returns a function that releases the slot. Throws ApiError `overloaded` if no slot is left for
   * the owner.
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
