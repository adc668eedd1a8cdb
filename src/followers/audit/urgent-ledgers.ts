import type { Uuid } from '../../proof/ids.ts'

/**
 * Ledgers with a settlement that waits for verification. The follower verifies these ledgers at once. It verifies all
 * other ledgers round-robin.
 */
export class UrgentLedgers {
  readonly #wake: () => void
  readonly #ledgers = new Set<Uuid>()

  constructor(wake: () => void) {
    this.#wake = wake
  }

  add(ledgerId: Uuid): void {
    this.#ledgers.add(ledgerId)
    this.#wake()
  }

  /** Returns all ledgers and clears the list. A caller that still waits for a ledger adds it again. */
  take(): Uuid[] {
    const ledgers = [...this.#ledgers]
    this.#ledgers.clear()
    return ledgers
  }
}
