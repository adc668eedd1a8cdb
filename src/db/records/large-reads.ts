import type { Uuid } from '../../proof/ids.ts'

/**
 * Limits how many reads of large documents run at the same time: one of each ledger, and `atOnceMax` in all. Ledgers
 * are served round-robin.
 *
 * Without this limit, the pages of one ledger would use every connection of the pool. Postgres would then take the CPU
 * from commits and from the event loop. Admission limits how many reads wait (src/load/admission.ts).
 */
export class LargeReads {
  readonly #atOnceMax: number
  readonly #running = new Set<Uuid>()
  /** Maps a ledger to its waiting reads. The ledgers are in round-robin order. */
  readonly #waiting = new Map<Uuid, (() => void)[]>()

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax
  }

  /** Runs `read` when it is the ledger's turn. Returns its result and throws its errors. */
  async run<T>(ledgerId: Uuid, read: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.set(ledgerId, [...(this.#waiting.get(ledgerId) ?? []), resolve])
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
      if (this.#running.size >= this.#atOnceMax) return
      if (this.#running.has(ledgerId)) continue
      // The ledger moves behind all other ledgers.
      this.#waiting.delete(ledgerId)
      if (others.length > 0) this.#waiting.set(ledgerId, others)
      this.#running.add(ledgerId)
      first!()
    }
  }
}
