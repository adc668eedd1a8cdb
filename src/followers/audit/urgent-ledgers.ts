import type { Uuid } from '../../proof/ids.ts'
import { URGENT_LEDGER_MS, URGENT_LEDGERS_STORED_MAX } from '../limits.ts'

/**
 * Ledgers with a settlement that waits for verification. The follower verifies these ledgers at once. It verifies all
 * other ledgers round-robin.
 *
 * A ledger stays in the list for URGENT_LEDGER_MS after the last settlement. Its entries are then already verified when
 * the next settlement comes. Otherwise each settlement would wait for all entries since the last one.
 */
export class UrgentLedgers {
  readonly #wake: () => void
  /** Maps a ledger to the time at which it was last added. The ledger that was added last comes last. */
  readonly #addedAt = new Map<Uuid, number>()

  constructor(wake: () => void) {
    this.#wake = wake
  }

  add(ledgerId: Uuid, now = performance.now()): void {
    this.#addedAt.delete(ledgerId)
    this.#addedAt.set(ledgerId, now)
    this.#wake()
  }

  /**
   * Returns all ledgers. Then removes the ledgers that were added too long ago, and the oldest ones beyond
   * URGENT_LEDGERS_STORED_MAX. A caller that still waits for a ledger adds it again.
   */
  take(now = performance.now()): Uuid[] {
    const ledgers = [...this.#addedAt.keys()]
    for (const [ledgerId, addedAt] of this.#addedAt) {
      if (now - addedAt <= URGENT_LEDGER_MS && this.#addedAt.size <= URGENT_LEDGERS_STORED_MAX) break
      this.#addedAt.delete(ledgerId)
    }
    return ledgers
  }
}
