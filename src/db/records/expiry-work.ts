import { NIL_UUID } from '../../proof/ids.ts'
import { hasOpenFault } from '../chain/verified-size.ts'
import type { Db } from '../connect/client.ts'
import type { GatedRecordKey } from './gated-cases.ts'

/**
 * A record whose deadline passed without a delivery. `isBlocked` is true if its ledger accepts no entries, or has an
 * open fault.
 */
export type OverdueRecord = GatedRecordKey & { readonly deadline: string; readonly isBlocked: boolean }

/**
 * Lists overdue records of all ledgers. Begins after the record `after`. The database's clock decides whether a record
 * is overdue. Uses the index open_deadlines_due.
 *
 * `deadline` is text because a Date is less exact than the column.
 */
export async function listOverdue(
  db: Db,
  after: OverdueRecord | null,
  limit: number,
): Promise<OverdueRecord[]> {
  const { rows } = await db.query<OverdueRecord>({
    name: 'list_overdue',
    text: `select d.ledger_id, d.record_id, d.deadline::text as deadline, h.closed is not null or ${hasOpenFault('d.ledger_id')} as is_blocked
      from (
        select d.ledger_id, d.record_id, d.deadline from tallystick.open_deadlines d
        where d.deadline <= now() and (d.deadline, d.ledger_id, d.record_id) > ($1, $2::uuid, $3::uuid)
        order by d.deadline, d.ledger_id, d.record_id limit $4
      ) d
      cross join lateral (
        select h.closed from tallystick.chain_heads h where h.ledger_id = d.ledger_id offset 0
      ) h
      order by d.deadline, d.ledger_id, d.record_id`,
    values: [after?.deadline ?? '-infinity', after?.ledgerId ?? NO_ID, after?.recordId ?? NO_ID, limit],
  })
  return rows
}

const NO_ID = NIL_UUID

export async function countOverdue(db: Db): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*) as count from tallystick.open_deadlines d
     join tallystick.chain_heads h on h.ledger_id = d.ledger_id and h.closed is null
     where d.deadline <= now()`,
  )
  return rows[0]!.count
}
