import type { Uuid } from '../../proof/ids.ts'
import { tooMany } from '../connect/coalescer.ts'

type LargeReadLimits = { readonly atOnceMax: number; readonly waitingMax: number }

/**
 * Limits how many reads of large documents run at the same time: one of each ledger, and `atOnceMax` in all. Ledgers
 * are served round-robin. At most `waitingMax` reads of a ledger wait.
 *
 * Without this limit, the pages of one ledger would use every connection of the pool. Postgres would then take the CPU
 * from commits and from the event loop. A waiting page has rows in memory, even after its client has disconnected, so
 * the number of waiting reads is limited too.
 */
export class LargeReads {
  readonly #limits: LargeReadLimits
  readonly #running = new Set<Uuid>()
  /** Maps a ledger to its waiting reads. The ledgers are in round-robin order. */
  readonly #waiting = new Map<Uuid, (() => void)[]>()

  constructor(limits: LargeReadLimits) {
    this.#limits = limits
  }

  /**
   * Runs `read` when it is the ledger's turn. Returns its result and throws its errors. Throws ApiError `overloaded` if
   * too many reads of the ledger wait.
   */
  async run<T>(ledgerId: Uuid, read: () => Promise<T>): Promise<T> {
    const isFree = this.#running.size < this.#limits.atOnceMax && !this.#running.has(ledgerId)
    const waiting = this.#waiting.get(ledgerId) ?? []
    if (!isFree && waiting.length >= this.#limits.waitingMax) throw tooMany()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.set(ledgerId, [...waiting, resolve])
    this.#begin()
    await promise
    try {
      return await read()
    } finally {
      this.#running.delete(ledgerId)
      this.#begin()
    }
  }

  #begin(): void {
    for (const [ledgerId, [first, ...others]] of this.#waiting) {
      if (this.#running.size >= this.#limits.atOnceMax) return
      if (this.#running.has(ledgerId)) continue
      // The ledger moves behind all other ledgers.
      this.#waiting.delete(ledgerId)
      if (others.length > 0) this.#waiting.set(ledgerId, others)
      this.#running.add(ledgerId)
      first!()
    }
  }
}
