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
 * If a ledger grows, the follower checks the ledger's cursor itself. But if an attacker moves a cursor to the end of
 * its ledger, the follower does not read the ledger until an entry is appended. These rounds find such a cursor
 * earlier. A ledger without a cursor counts as new.
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
 * Removes a cursor that was written with the worker's login but without the master key. A forged cursor is no fault of
 * the ledger. The ledger is then verified from its start again, which finds whatever the forged cursor was meant to
 * hide.
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
