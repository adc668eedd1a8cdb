import { NIL_UUID } from '../../proof/ids.ts'
import { hasOpenFault } from '../chain/floors.ts'
import type { Db } from '../connect/client.ts'
import type { GatedName } from './gated-cases.ts'

/** A record whose deadline has passed while nothing was delivered; `stands`: its ledger takes no entries, or has an open fault. */
export type OverdueRecord = GatedName & { readonly deadline: string; readonly stands: boolean }

/**
 * By the database's clock, of all ledgers, along gated_records_by_deadline; those after `after`. `deadline` is as exact as the
 * column, which a Date is not.
 */
export async function listOverdue(
  db: Db,
  after: OverdueRecord | null,
  limit: number,
): Promise<OverdueRecord[]> {
  const { rows } = await db.query<OverdueRecord>({
    name: 'list_overdue',
    text: `select g.ledger_id, g.record_id, g.deadline::text as deadline, h.closed is not null or ${hasOpenFault('g.ledger_id')} as stands
      from (
        select g.ledger_id, g.record_id, g.deadline from tallystick.gated_records g
        where g.state in ('CREATED', 'ACTIVE') and g.deadline <= now() and g.deadline >= $1
          and (g.deadline, g.ledger_id, g.record_id) > ($1, $2::uuid, $3::uuid)
        order by g.deadline, g.ledger_id, g.record_id limit $4
      ) g
      cross join lateral (
        select h.closed from tallystick.chain_heads h where h.ledger_id = g.ledger_id offset 0
      ) h
      order by g.deadline, g.ledger_id, g.record_id`,
    values: [after?.deadline ?? '-infinity', after?.ledgerId ?? NO_ID, after?.recordId ?? NO_ID, limit],
  })
  return rows
}

const NO_ID = NIL_UUID

/** In ledgers that take entries. */
export async function countOverdue(db: Db): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*) as count from tallystick.gated_records g
     join tallystick.chain_heads h on h.ledger_id = g.ledger_id and h.closed is null
     where g.state in ('CREATED', 'ACTIVE') and g.deadline <= now()`,
  )
  return rows[0]!.count
}
