import { ApiError } from '../errors.ts'

/** How many streams each ledger has open: an answer that nobody reads is held, and pipelining makes hundreds cheap. */
export class StreamSlots {
  readonly #openMax: number
  readonly #open = new Map<string, number>()

  constructor(openMax: number) {
    this.#openMax = openMax
  }

  /** Returns what gives the slot back. Throws ApiError where all of the ledger's are taken. */
  take(ledger: string): () => void {
    const open = this.#open.get(ledger) ?? 0
    if (open >= this.#openMax) {
      throw new ApiError('overloaded', `the ledger is being read ${open} times at once: try again later`, {
        retryable: true,
        retryAfterMs: 1_000,
      })
    }
    this.#open.set(ledger, open + 1)
    return () => this.#release(ledger)
  }

  #release(ledger: string): void {
    const open = this.#open.get(ledger)! - 1
    if (open === 0) this.#open.delete(ledger)
    else this.#open.set(ledger, open)
  }
}
