import { ApiError } from '../../errors.ts'

/**
 * How many long answers of a kind each ledger has open, streamed or waited for: an answer that nobody reads is held, and pipelining
 * makes hundreds cheap. A ledger has as many as half of those that are left, at most: so a few ledgers that take all they can leave some to others.
 */
export class Slots {
  readonly #perLedgerMax: number
  readonly #allMax: number
  readonly #open = new Map<string, number>()
  #all = 0
  #refused = 0

  constructor(perLedgerMax: number, allMax: number) {
    this.#perLedgerMax = perLedgerMax
    this.#allMax = allMax
  }

  get open(): number {
    return this.#all
  }

  /** Since the process began. */
  get refused(): number {
    return this.#refused
  }

  /** Returns what gives the slot back. Throws ApiError where all of the ledger's are taken. */
  take(ledger: string): () => void {
    const open = this.#open.get(ledger) ?? 0
    if (open >= Math.min(this.#perLedgerMax, Math.ceil((this.#allMax - this.#all) / 2))) {
      this.#refused++
      throw new ApiError(
        'overloaded',
        `too many long reads or waits are open (of this ledger ${open}): try again later`,
        {
          retryable: true,
          retryAfterMs: 1_000,
        },
      )
    }
    this.#open.set(ledger, open + 1)
    this.#all++
    return () => this.#release(ledger)
  }

  #release(ledger: string): void {
    this.#all--
    const open = this.#open.get(ledger)! - 1
    if (open === 0) this.#open.delete(ledger)
    else this.#open.set(ledger, open)
  }
}
