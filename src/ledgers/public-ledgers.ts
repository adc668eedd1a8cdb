import type pg from 'pg'
import { listPublicLedgers } from '../db/ledgers/ledgers.ts'
import type { Uuid } from '../proof/ids.ts'
import { PUBLIC_LEDGERS_AGE_MS_MAX } from './limits.ts'

type Read = { readonly beganAtMs: number; readonly ledgers: Promise<ReadonlySet<Uuid>> }

/**
 * All ledgers whose tiles are public. The list is read again after 5 s. The clock MUST never go back.
 *
 * A reader without a key can name any ledger, so an unknown id must not cause a query. An earlier version looked up
 * each id separately. There a flood of unknown ids used up the look-ups, and newly public ledgers were not found.
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

  /** Drops the list. Must be called when this server has changed a ledger. */
  forget(): void {
    this.#read = null
  }

  #ledgers(): Promise<ReadonlySet<Uuid>> {
    const beganAtMs = this.#now()
    if (this.#read !== null && beganAtMs - this.#read.beganAtMs < PUBLIC_LEDGERS_AGE_MS_MAX)
      return this.#read.ledgers
    const read = { beganAtMs, ledgers: listPublicLedgers(this.#pool) }
    this.#read = read
    // A failed read is not cached. The callers that wait for it get the error.
    read.ledgers.catch(() => {
      if (this.#read === read) this.#read = null
    })
    return read.ledgers
  }
}
