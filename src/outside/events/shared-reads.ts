import { Places } from '../../append/places.ts'
import { archiveUnavailable } from '../../db/chunks/released-chunks.ts'
import type { Db } from '../../db/connect/client.ts'

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
  readonly #ofArchive: Places
  readonly #reading = new Map<string, Promise<T>>()
  /** By ledger; the one whose turn it is is first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #atOnce = 0
  #figures = { made: 0, shared: 0 }

  constructor(atOnceMax: number, ofArchiveMax: number) {
    this.#atOnceMax = atOnceMax
    const limits = { underWayMax: ofArchiveMax, burstMax: 0, burstPerSecond: 0 }
    this.#ofArchive = new Places(() => performance.now(), limits)
  }

  /** Reads that wait now, and since the process began: reads made, and reads that another caller's answered. */
  get figures(): { readonly waiting: number; readonly made: number; readonly shared: number } {
    const waiting = [...this.#waiting.values()].reduce((sum, others) => sum + others.length, 0)
    return { waiting, ...this.#figures }
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
      if (!asksArchive) this.#ofArchive.enter(ledger)
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
      return await read((db) => turnedDb(db, outOfTurn))
    } finally {
      this.#giveBack()
      if (asksArchive) this.#ofArchive.leave(ledger)
    }
  }

  async #take(ledger: string): Promise<void> {
    if (this.#atOnce >= this.#atOnceMax) await new Promise<void>((resolve) => this.#wait(ledger, resolve))
    else this.#atOnce++
  }

  /** The next one has the place. */
  #giveBack(): void {
    const next = this.#takeWaiting()
    if (next) next()
    else this.#atOnce--
  }

  #wait(ledger: string, go: () => void): void {
    const others = this.#waiting.get(ledger)
    if (others) others.push(go)
    else this.#waiting.set(ledger, [go])
  }

  #takeWaiting(): (() => void) | undefined {
    for (const [ledger, [next, ...others]] of this.#waiting) {
      this.#waiting.delete(ledger)
      if (others.length > 0) this.#waiting.set(ledger, others)
      return next
    }
    return undefined
  }
}

function turnedDb(db: Db, outOfTurn: <R>(ask: () => Promise<R>) => Promise<R>): Db {
  const { released } = db
  if (!released) return db
  return {
    query: db.query.bind(db) as Db['query'],
    released: {
      read: (chunk) => outOfTurn(() => released.read(chunk)),
      readEnvelopes: (wanted) => outOfTurn(() => released.readEnvelopes(wanted)),
    },
  }
}
