import type pg from 'pg'
import { EVIDENCE } from './tables.ts'

/**
 * Tables of ledgers' rows that are not in EVIDENCE. They are compared in another way, or together with a table of
 * EVIDENCE.
 */
const OTHER_TABLES = [
  'entries',
  'gated_records',
  'api_key_secrets',
  'record_references',
  'hold_records',
  'checkpoints',
  'tree_tiles',
  'tree_frontiers',
  'ledgers',
  'peers',
  'peer_keys',
  'shared_records',
  'received_types',
  'remote_records',
]

const LEDGER_TABLES = new Set([
  ...Object.values(EVIDENCE).map(({ table }) => table.split('.')[0]!),
  ...OTHER_TABLES,
])

/**
 * Returns the names of tables that have rows of a ledger without a chain. No audit would read these rows.
 *
 * The query goes from ledger to ledger along the primary keys. `skip` contains tables that this login may not read.
 */
export async function listStrayTables(client: pg.ClientBase, skip: readonly string[]): Promise<string[]> {
  const stray: string[] = []
  for (const table of LEDGER_TABLES) {
    if (skip.includes(table)) continue
    const { rowCount } = await client.query(
      `with recursive ids as (
         (select ledger_id from tallystick.${table} order by ledger_id limit 1)
         union all
         select (select t.ledger_id from tallystick.${table} t where t.ledger_id > ids.ledger_id order by t.ledger_id limit 1)
         from ids where ids.ledger_id is not null
       )
       select from ids where ledger_id is not null
         and not exists (select from tallystick.chain_heads h where h.ledger_id = ids.ledger_id) limit 1`,
    )
    if (rowCount) stray.push(table)
  }
  return stray
}
