import { archiveUnavailable, wrapArchiveReads } from '../../db/connect/archive.ts'
import type { Db } from '../../db/connect/client.ts'
import { FairQueue } from '../../load/fair-queue.ts'
import { Shares } from '../../load/shares.ts'

/** Wraps the database for one read. While that read waits for the archive, another read may use its slot. */
export type YieldingDb = (db: Db) => Db

/**
 * Runs event reads that many callers request at the same time.
 *
 * Callers that request the same page share one read. Only a few reads run at a time. Ledgers are served round-robin, so
 * that five hundred reads of one ledger do not delay another ledger. The reads of one ledger run in the order of their
 * requests. A read that waits for the archive keeps its rows in memory. The number of reads that wait for the archive
 * is therefore bounded, and no single ledger can use the whole bound.
 */
export class SharedReads<T> {
  readonly #atOnceMax: number
  /** Counts the reads that have queried the archive, for each ledger. Each read counts until it ends. */
  readonly #ofArchive: Shares
  readonly #reading = new Map<string, Promise<T>>()
  readonly #waiting = new FairQueue<() => void>()
  #atOnce = 0
  #counts = { made: 0, shared: 0 }

  constructor(atOnceMax: number, ofArchiveMax: number) {
    this.#atOnceMax = atOnceMax
    this.#ofArchive = new Shares({ rule: 'equal', max: ofArchiveMax })
  }

  /** Numbers of reads: those that wait now, and those that were made and shared since the process began. */
  get counts(): { readonly waiting: number; readonly made: number; readonly shared: number } {
    return { waiting: this.#waiting.size, ...this.#counts }
  }

  /**
   * Runs `read`, or shares a running read with the same `key`. Reads that could return different data MUST have
   * different keys. Throws ApiError `archive_unavailable` if too many reads wait for the archive.
   */
  read(ledger: string, key: string, read: (turned: YieldingDb) => Promise<T>): Promise<T> {
    const found = this.#reading.get(key)
    if (found) {
      this.#counts.shared++
      return found
    }
    this.#counts.made++
    const made = this.#readInSlot(ledger, read).finally(() => this.#reading.delete(key))
    this.#reading.set(key, made)
    return made
  }

  async #readInSlot(ledger: string, read: (turned: YieldingDb) => Promise<T>): Promise<T> {
    let asksArchive = false
    const outsideSlot = async <R>(ask: () => Promise<R>): Promise<R> => {
      if (!asksArchive && !this.#ofArchive.admits(ledger))
        throw archiveUnavailable('too many reads of events wait for the archive')
      if (!asksArchive) this.#ofArchive.take(ledger)
      asksArchive = true
      this.#giveBack()
      try {
        return await ask()
      } finally {
        await this.#take(ledger)
      }
    }
    await this.#take(ledger)
    try {
      return await read((db) => wrapArchiveReads(db, outsideSlot))
    } finally {
      this.#giveBack()
      if (asksArchive) this.#ofArchive.release(ledger)
    }
  }

  async #take(ledger: string): Promise<void> {
    if (this.#atOnce >= this.#atOnceMax)
      await new Promise<void>((resolve) => this.#waiting.add(ledger, resolve))
    else this.#atOnce++
  }

  #giveBack(): void {
    const next = this.#waiting.next()
    if (next) next()
    else this.#atOnce--
  }
}
