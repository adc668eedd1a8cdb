import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'

/**
 * Repairs a ledger after entries were written while triggers were off. Moves the chain's head to the newest entry. Adds
 * and removes rows of work that waits for the worker, as the triggers would have done.
 *
 * Must run in a transaction of the database's owner. The caller MUST verify the whole ledger before it commits. Returns
 * the size before and after, and the number of rows of waiting work that were added or removed. Returns null if the
 * ledger does not exist.
 */
export async function mendHead(
  client: pg.ClientBase,
  ledgerId: Uuid,
): Promise<{ readonly before: number; readonly after: number; readonly rows: number } | null> {
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
  const rows = await makeFollowingRows(client, ledgerId)
  return { before, after: moved.rows[0]?.size ?? before, rows }
}

/**
 * Adds missing rows of work that waits for the worker, and removes outdated rows. Returns the number of added and
 * removed rows. If `ledgerId` is null, does this for all ledgers.
 *
 * The caller must have locked `chain_heads` or `gated_records`, so that no step is taken at the same time.
 */
export async function makeFollowingRows(client: pg.ClientBase, ledgerId: Uuid | null): Promise<number> {
  let rows = 0
  for (const text of FOLLOWING_ROWS) rows += (await client.query(text, [ledgerId])).rowCount!
  return rows
}

/**
 * SQL that adds and removes the rows which gated_records_begin and gated_records_change usually maintain
 * (migrations/functions/guards.sql).
 */
const FOLLOWING_ROWS = [
  `insert into tallystick.open_deadlines (ledger_id, record_id, deadline)
   select ledger_id, record_id, deadline from tallystick.gated_records
   where ($1::uuid is null or ledger_id = $1) and deadline is not null and state in ('CREATED', 'ACTIVE') on conflict do nothing`,
  `delete from tallystick.open_deadlines d using tallystick.gated_records g
   where ($1::uuid is null or d.ledger_id = $1) and g.ledger_id = d.ledger_id and g.record_id = d.record_id and g.state not in ('CREATED', 'ACTIVE')`,
  `insert into tallystick.waiting_completions (ledger_id, seq, record_id)
   select ledger_id, last_seq, record_id from tallystick.gated_records
   where ($1::uuid is null or ledger_id = $1) and tallystick.waits_for_worker(state, gate) on conflict do nothing`,
  `delete from tallystick.waiting_completions w using tallystick.gated_records g
   where ($1::uuid is null or w.ledger_id = $1) and g.ledger_id = w.ledger_id and g.record_id = w.record_id
     and (g.last_seq <> w.seq or not tallystick.waits_for_worker(g.state, g.gate))`,
]
