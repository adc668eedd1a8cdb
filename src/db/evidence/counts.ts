import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'

/** Returns the number of records in all batches: the sum of the numbers in the rows of the entries. */
export async function countItems(client: pg.ClientBase, ledgerId: Uuid): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select coalesce(sum(item_count), 0) as count from tallystick.entries where ledger_id = $1',
    [ledgerId],
  )
  return rows[0]!.count
}

/**
 * Counts the ledger's rows in a table. Each expected row is verified elsewhere. So a larger count shows that the table
 * has additional rows.
 */
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
