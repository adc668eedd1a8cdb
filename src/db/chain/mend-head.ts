import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'

/**
 * Moves the head of a chain to its newest entry, and redoes the work of the triggers of steps: neither was done while triggers
 * were off. Runs as the owner in the caller's transaction. The caller MUST verify the whole ledger before it commits. Returns
 * the size before and after; null: no such ledger.
 */
export async function mendHead(
  client: pg.ClientBase,
  ledgerId: Uuid,
): Promise<{ readonly before: number; readonly after: number } | null> {
  const head = await client.query<{ size: number }>(
    'select size from tallystick.chain_heads where ledger_id = $1 for update',
    [ledgerId],
  )
  if (head.rowCount === 0) return null
  const before = head.rows[0]!.size
  const moved = await client.query<{ size: number }>(
    `update tallystick.chain_heads h set size = e.seq + 1, chain = e.chain
     from (select seq, chain from tallystick.entries where ledger_id = $1 order by seq desc limit 1) e
     where h.ledger_id = $1 and e.seq >= h.size
     returning h.size`,
    [ledgerId],
  )
  for (const text of FOLLOWING_ROWS) await client.query(text, [ledgerId])
  return { before, after: moved.rows[0]?.size ?? before }
}

/** As gated_records_begin and gated_records_change keep them (migrations/functions/guards.sql). */
const FOLLOWING_ROWS = [
  `insert into tallystick.open_deadlines (ledger_id, record_id, deadline)
   select ledger_id, record_id, deadline from tallystick.gated_records
   where ledger_id = $1 and deadline is not null and state in ('CREATED', 'ACTIVE') on conflict do nothing`,
  `delete from tallystick.open_deadlines d using tallystick.gated_records g
   where d.ledger_id = $1 and g.ledger_id = d.ledger_id and g.record_id = d.record_id and g.state not in ('CREATED', 'ACTIVE')`,
  `insert into tallystick.waiting_completions (ledger_id, seq, record_id)
   select ledger_id, last_seq, record_id from tallystick.gated_records
   where ledger_id = $1 and tallystick.waits_for_worker(state, gate) on conflict do nothing`,
  `delete from tallystick.waiting_completions w using tallystick.gated_records g
   where w.ledger_id = $1 and g.ledger_id = w.ledger_id and g.record_id = w.record_id
     and (g.last_seq <> w.seq or not tallystick.waits_for_worker(g.state, g.gate))`,
]
