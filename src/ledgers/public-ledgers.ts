import type pg from 'pg'
import { listPublicLedgers } from '../db/ledgers/ledgers.ts'
import type { Uuid } from '../proof/ids.ts'
import { PUBLIC_LEDGERS_AGE_MS_MAX } from './limits.ts'

type Read = { readonly beganAtMs: number; readonly ledgers: Promise<ReadonlySet<Uuid>> }

/**
 * Ledgers whose tiles anybody may read: all of them, read anew after 5 s. A reader without a key can name any ledger, so an id that is
 * unknown costs no query: when each was looked for, a flood of them used up the looks of ledgers that had just become public. The clock
 * MUST be one that never goes back.
 */
export class PublicLedgers {
  readonly #pool: pg.Pool
  readonly #now: () => number
  #read: Read | null = null

  constructor(pool: pg.Pool, now: () => number) {
    this.#pool = pool
    this.#now = now
  }

  async has(ledgerId: Uuid): Promise<boolean> {
    return (await this.#ledgers()).has(ledgerId)
  }

  /** Says that one was changed here. */
  forget(): void {
    this.#read = null
  }

  #ledgers(): Promise<ReadonlySet<Uuid>> {
    const beganAtMs = this.#now()
    if (this.#read !== null && beganAtMs - this.#read.beganAtMs < PUBLIC_LEDGERS_AGE_MS_MAX)
      return this.#read.ledgers
    const read = { beganAtMs, ledgers: listPublicLedgers(this.#pool) }
    this.#read = read
    // A failed read is not remembered; who waits for it is told.
    read.ledgers.catch(() => {
      if (this.#read === read) this.#read = null
    })
    return read.ledgers
  }
}
