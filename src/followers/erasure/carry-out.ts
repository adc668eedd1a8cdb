import type pg from 'pg'
import { readFindKey } from '../../db/chain/signed-entries.ts'
import { isUnavailable } from '../../db/connect/failures.ts'
import {
  eraseDocument,
  findErasedItem,
  listPendingErasures,
  type PendingErasure,
} from '../../db/records/pending-erasures.ts'
import type { FindKey } from '../../proof/entry/verify-entry.ts'
import { formatId } from '../../proof/ids.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import { destroyDocumentKey } from '../archive/destroy-key.ts'
import { ERASURES_PER_ROUND } from '../limits.ts'
import type { Refused } from '../refused.ts'
import { verifyErasure } from './verify-erasure.ts'

export type ErasureDeps = {
  readonly pool: pg.Pool
  readonly masterKey: MasterKey
  /** Erasures that were not carried out, because their entry does not order them or something is in the way. */
  readonly refusedErasures: Refused
  /** Hears of each document that was taken away. */
  readonly observeErasure?: () => void
  readonly log: {
    info(details: object, message: string): void
    error(details: object, message: string): void
  }
}

/**
 * Makes the rounds that take erased documents away, of all ledgers, page by page: each returns whether there are more
 * pages. An erasure is carried out in one transaction, and is then pending no more: a worker that was killed goes on
 * where it was, and two of them do no harm. One that is refused stays pending, and holds up no other.
 */
export function makeErasureRound(deps: ErasureDeps): () => Promise<boolean> {
  let last: PendingErasure | null = null
  return async () => {
    const pending = await listPendingErasures(deps.pool, last, ERASURES_PER_ROUND)
    last = pending.length < ERASURES_PER_ROUND ? null : pending.at(-1)!
    const due = pending.filter((erasure) => !deps.refusedErasures.isPaused(nameOf(erasure)))
    if (due.length > 0) {
      const findKey = await readFindKey(deps.pool)
      for (const erasure of due) await carryOut(deps, erasure, findKey)
    }
    return last !== null
  }
}

async function carryOut(deps: ErasureDeps, erasure: PendingErasure, findKey: FindKey): Promise<void> {
  const name = nameOf(erasure)
  const details = { ledger: formatId('led', erasure.ledgerId), seq: erasure.seq, document: erasure.document }
  try {
    const found = await findErasedItem(deps.pool, erasure)
    verifyErasure(found, findKey)
    await destroyDocumentKey(deps.pool, deps.masterKey, found)
    if (await eraseDocument(deps.pool, found)) {
      deps.observeErasure?.()
      deps.log.info(details, 'a document was erased')
    }
    deps.refusedErasures.forget(name)
  } catch (error) {
    if (isUnavailable(error as Error)) throw error
    // Logged once: a login that can make such rows could otherwise fill the log.
    if (deps.refusedErasures.refuse(name)) deps.log.error({ err: error, ...details }, 'an erasure is refused')
  }
}

function nameOf({ ledgerId, seq }: PendingErasure): string {
  return `${formatId('led', ledgerId)} ${seq}`
}
