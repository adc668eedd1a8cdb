import type { Uuid } from '../../proof/ids.ts'

/**
 * Ledgers with a settlement that waits for verification. The follower verifies these at once, and all other ledgers
 * round-robin.
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

  /** Returns and clears all ledgers. A caller that still waits adds its ledger again. */
  take(): Uuid[] {
    const ledgers = [...this.#ledgers]
    this.#ledgers.clear()
    return ledgers
  }
}
