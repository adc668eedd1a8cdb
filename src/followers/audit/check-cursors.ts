import type pg from 'pg'
import { listAuditCursors, removeAuditCursor } from '../../db/audit/audit-cursors.ts'
import type { Db } from '../../db/connect/client.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import { AUDIT_CURSORS_PER_ROUND } from '../limits.ts'

export type CheckCursorsDeps = {
  readonly pool: pg.Pool
  readonly cursorMac: CursorMac
  readonly log: { error(details: object, message: string): void }
}

/**
 * Makes rounds that check the MACs of audit cursors, page by page.
 *
 * For growing ledgers the follower checks the cursors itself. But if an attacker moves a cursor to its ledger's end,
 * the follower does not visit the ledger until something is appended, so these rounds find it. A ledger without a
 * cursor row counts as new.
 */
export function makeCursorRound(deps: CheckCursorsDeps): () => Promise<boolean> {
  let last: Uuid | null = null
  return async () => {
    const cursors = await listAuditCursors(deps.pool, last, AUDIT_CURSORS_PER_ROUND)
    last = cursors.length < AUDIT_CURSORS_PER_ROUND ? null : cursors.at(-1)!.ledgerId
    for (const cursor of cursors) {
      if (deps.cursorMac.isOf(cursor, cursor.mac)) continue
      await refuseCursor(deps.pool, deps.log, cursor.ledgerId, cursor)
    }
    return false
  }
}

/**
 * Removes a cursor that was written with the worker's login but without the master key. A forged cursor is no fault
 * of the ledger: the ledger is verified from its start again, which shows what the cursor was meant to hide.
 */
export async function refuseCursor(
  db: Db,
  log: CheckCursorsDeps['log'],
  ledgerId: Uuid,
  cursor: { readonly nextSeq: number; readonly mac: Buffer },
): Promise<void> {
  await removeAuditCursor(db, ledgerId, cursor.mac)
  log.error(
    { ledger: formatId('led', ledgerId), seq: cursor.nextSeq },
    'the cursor of the ledger was not written by a worker: all its entries are verified again',
  )
}
