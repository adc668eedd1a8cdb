import { archiveUnavailable, aroundArchive } from '../../db/connect/archive.ts'
import type { Db } from '../../db/connect/client.ts'
import { FairQueue } from '../../load/fair-queue.ts'
import { Shares } from '../../load/shares.ts'

/** The database as one read asks it: while the read waits for the archive, it leaves its place to others. */
export type TurnedDb = (db: Db) => Db

/**
 * Reads that many ask for at the same time. A caller that asks for a page under way shares it, and few other reads run
 * at a time. Ledgers take turns, so that nobody waits for the five hundred reads of another ledger; the calls of one
 * ledger go in their order.
 *
 * A read that asks the archive holds what it has read until then, so these are few as well; no ledger can be all of them.
 */
export class SharedReads<T> {
  readonly #atOnceMax: number
  /** Reads that have asked the archive, until they end. */
  readonly #ofArchive: Shares
  readonly #reading = new Map<string, Promise<T>>()
  readonly #waiting = new FairQueue<() => void>()
  #atOnce = 0
  #figures = { made: 0, shared: 0 }

  constructor(atOnceMax: number, ofArchiveMax: number) {
    this.#atOnceMax = atOnceMax
    this.#ofArchive = new Shares({ rule: 'equal', max: ofArchiveMax })
  }

  /** Reads that wait now, and since the process began: reads made, and reads that another caller's answered. */
  get figures(): { readonly waiting: number; readonly made: number; readonly shared: number } {
    return { waiting: this.#waiting.size, ...this.#figures }
  }

  /**
   * `key`: MUST be another one wherever `read` could read something else. Throws ApiError `archive_unavailable` where too many reads ask
   * the archive.
   */
  read(ledger: string, key: string, read: (turned: TurnedDb) => Promise<T>): Promise<T> {
    const found = this.#reading.get(key)
    if (found) {
      this.#figures.shared++
      return found
    }
    this.#figures.made++
    const made = this.#inTurn(ledger, read).finally(() => this.#reading.delete(key))
    this.#reading.set(key, made)
    return made
  }

  async #inTurn(ledger: string, read: (turned: TurnedDb) => Promise<T>): Promise<T> {
    let asksArchive = false
    const outOfTurn = async <R>(ask: () => Promise<R>): Promise<R> => {
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
      return await read((db) => aroundArchive(db, outOfTurn))
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

  /** The next one has the place. */
  #giveBack(): void {
    const next = this.#waiting.next()
    if (next) next()
    else this.#atOnce--
  }
}
