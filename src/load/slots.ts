import { ApiError } from '../errors.ts'
import { Shares } from './shares.ts'

/** Few, because each may stay for an hour: twelve owners that take all they can leave some of a hundred to others. */
const OF_REST = 1 / 3

/**
 * Long answers of a kind, streamed or waited for, by owner: an answer that nobody reads is held, and pipelining makes hundreds cheap.
 * UNPROVEN has as many as one ledger, in addition to those of all ledgers.
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

  /** Since the process began. */
  get refused(): number {
    return this.#shares.refused
  }

  /** Returns what gives the slot back. Throws ApiError where all of the owner's are taken. */
  take(owner: string): () => void {
    if (!this.#shares.admits(owner)) {
      throw new ApiError(
        'overloaded',
        `too many long reads or waits are open (of this ledger ${this.#shares.of(owner)}): try again later`,
        { retryable: true, retryAfterMs: 1_000 },
      )
    }
    this.#shares.take(owner)
    return () => this.#shares.release(owner)
  }
}
