import type { Uuid } from '../../proof/ids.ts'
import { URGENT_LEDGER_MS, URGENT_LEDGERS_STORED_MAX } from '../limits.ts'

/**
 * Ledgers with a settlement that waits for verification. The follower verifies these ledgers at once. It verifies all
 * other ledgers round-robin.
 *
 * A ledger stays in the list for URGENT_LEDGER_MS after its last settlement. So when the next settlement comes, the
 * entries before it are already verified. Otherwise each settlement would wait for all entries since the last
 * settlement.
 */
export class UrgentLedgers {
  readonly #wake: () => void
  /** Maps a ledger to the time in ms at which it was last added. The ledger that was added last is the last item. */
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
   * Returns all ledgers. Then removes ledgers that were last added more than URGENT_LEDGER_MS ago, and the oldest
   * ledgers beyond URGENT_LEDGERS_STORED_MAX. A caller that still waits for a ledger adds the ledger again.
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
