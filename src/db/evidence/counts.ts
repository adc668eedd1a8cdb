import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'

/** Records of batches, as the entries' rows say. */
export async function countItems(client: pg.ClientBase, ledgerId: Uuid): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select coalesce(sum(item_count), 0) as count from tallystick.entries where ledger_id = $1',
    [ledgerId],
  )
  return rows[0]!.count
}

/** All rows of the ledger in a table whose rows are read one by one, from elsewhere: there must be no others. */
export async function countRows(
  client: pg.ClientBase,
  table: 'record_references' | 'gated_records' | 'shared_records' | 'remote_records',
  ledgerId: Uuid,
): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*) as count from tallystick.${table} where ledger_id = $1`,
    [ledgerId],
  )
  return rows[0]!.count
}
