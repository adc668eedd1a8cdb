import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { withTransaction } from '../connect/transaction.ts'

/*
 * Has the queries of `move-ledger`, which moves a ledger to another database. They run as the owner of both databases.
 *
 * The tables are found in the catalog, so that no new table can be forgotten. The primary key of every table with rows
 * of ledgers begins with ledger_id.
 */

const ROWS_PER_COPY = 64
/**
 * Number of batch chunks per round trip. A chunk may have 4 MiB, which is 8 MiB as text, and both processes have
 * several copies in memory.
 */
const CHUNKS_PER_COPY = 8
/**
 * Key of an advisory lock for moves of ledgers from or to this database. The number is arbitrary, but equal in all
 * processes.
 */
const MOVE_LOCK = 7_411_958
/** Pause in seconds between two checks for transactions that began before the ledger was closed. */
const QUIET_POLL_SECONDS = 0.05

/** Returns whether a write was refused by the trigger refuse_while_moving or refuse_inserts_while_moving. */
export function isRefusedWhileMoving(error: Error): boolean {
  return (error as pg.DatabaseError).constraint === 'ledger_moving'
}

/** State of a ledger in one of the databases. null if the database does not have the ledger. */
export type LedgerState = {
  readonly closed: 'frozen' | 'restored' | 'moving' | 'moved' | null
  readonly size: number
} | null

export async function readLedgerState(db: Db, ledgerId: Uuid): Promise<LedgerState> {
  const { rows } = await db.query<NonNullable<LedgerState>>(
    'select closed, size from tallystick.chain_heads where ledger_id = $1',
    [ledgerId],
  )
  return rows[0] ?? null
}

/** Takes a lock until the connection ends. Throws if another process is moving a ledger from or to this database. */
export async function lockMoves(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
    MOVE_LOCK,
  ])
  if (!rows[0]!.locked)
    throw new Error('another move-ledger is running in this database: wait until it has ended')
}

/** Changes the ledger's state from one of `from` to `to`. Throws if the ledger is in none of the states `from`. */
export async function setClosed(
  client: pg.ClientBase,
  ledgerId: Uuid,
  from: readonly NonNullable<LedgerState>['closed'][],
  to: NonNullable<LedgerState>['closed'],
): Promise<void> {
  const { rowCount } = await client.query(
    `update tallystick.chain_heads set closed = $3
     where ledger_id = $1 and coalesce(closed, 'open') = any ($2) and closed is distinct from $3`,
    [ledgerId, from.map((closed) => closed ?? 'open'), to],
  )
  if (rowCount === 1) return
  const now = await readLedgerState(client, ledgerId)
  if (!now || now.closed !== to)
    throw new Error('another process opened or closed the ledger at the same time: run the command again')
}

/**
 * Waits until all transactions that began to write before this call have ended. After that, no transaction can add
 * entries to the closed ledger.
 */
export async function waitForWriters(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ xid: string }>(
    'select pg_snapshot_xmax(pg_current_snapshot())::text as xid',
  )
  for (;;) {
    const { rows: found } = await client.query<{ quiet: boolean }>(
      'select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as quiet',
      [rows[0]!.xid],
    )
    if (found[0]!.quiet) return
    await client.query('select pg_sleep($1)', [QUIET_POLL_SECONDS])
  }
}

export type TenantTable = { readonly name: string; readonly columns: readonly string[] }

/** Lists tables whose primary key begins with ledger_id, with all columns except generated ones. */
export async function listTenantTables(db: Db): Promise<TenantTable[]> {
  const { rows } = await db.query<TenantTable>(
    `select c.relname::text as name, (
         select array_agg(a.attname::text order by a.attnum) from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
       ) as columns
     from pg_class c
     join pg_index i on i.indrelid = c.oid and i.indisprimary
     join pg_attribute k on k.attrelid = c.oid and k.attnum = i.indkey[0] and k.attname = 'ledger_id'
     where c.relnamespace = 'tallystick'::regnamespace and c.relkind = 'r' order by c.relname`,
  )
  return rows
}

/**
 * Returns the number of the ledger's rows and a sum of digests of their text. Equal rows give equal results. `where` is
 * a condition on the rows.
 */
export async function digestRows(
  db: Db,
  { name, columns }: TenantTable,
  ledgerId: Uuid,
  where = 'true',
): Promise<string> {
  const row = `row(${columns.map((column) => `"${column}"`).join(', ')})`
  const { rows } = await db.query<{ digest: string }>(
    `select format('%s rows, %s', count(*), coalesce(sum(('x' || left(md5(${row}::text), 15))::bit(60)::bigint::numeric), 0)) as digest
     from tallystick.${name} where ledger_id = $1 and ${where}`,
    [ledgerId],
  )
  return rows[0]!.digest
}

/**
 * Copies all rows of the ledger byte for byte. Replaces rows of an earlier move. Returns the number of rows.
 *
 * Uses one transaction at the target, with triggers off, because triggers would apply the rules for new rows to old
 * rows. The copied ledger is in state `moving`.
 */
export async function copyLedger(
  source: pg.ClientBase,
  target: pg.ClientBase,
  ledgerId: Uuid,
): Promise<number> {
  const tables = await listTenantTables(source)
  return withTransaction(target, async () => {
    await silenceTriggers(target)
    await copyServerKeys(source, target)
    await deleteRows(target, tables, ledgerId)
    return withTransaction(source, async () => {
      await source.query('set transaction isolation level repeatable read, read only')
      let rows = 0
      for (const table of tables) rows += await copyRows(source, target, table, ledgerId)
      return rows
    })
  })
}

async function copyRows(
  source: pg.ClientBase,
  target: pg.ClientBase,
  { name, columns }: TenantTable,
  ledgerId: Uuid,
): Promise<number> {
  const list = columns.map((column) => `"${column}"`).join(', ')
  const insert = `insert into tallystick.${name} (${list}) select ${list} from unnest($1::tallystick.${name}[])`
  const perCopy = name === 'batch_chunks' ? CHUNKS_PER_COPY : ROWS_PER_COPY
  await source.query(
    `declare moved no scroll cursor for select t::text as row from tallystick.${name} t where ledger_id = $1`,
    [ledgerId],
  )
  let count = 0
  for (;;) {
    const { rows } = await source.query<{ row: string }>(`fetch forward ${perCopy} from moved`)
    if (rows.length === 0) break
    await target.query(insert, [rows.map(({ row }) => row)])
    count += rows.length
  }
  await source.query('close moved')
  return count
}

/** Removes the rows of a ledger that has moved to another database. Uses its own transaction with triggers off. */
export async function deleteLedger(client: pg.ClientBase, ledgerId: Uuid): Promise<void> {
  const tables = await listTenantTables(client)
  await withTransaction(client, async () => {
    await silenceTriggers(client)
    await deleteRows(client, tables, ledgerId)
  })
}

/** Removes the ledger's rows. Throws if this database has the ledger in another state than moving or moved. */
async function deleteRows(
  client: pg.ClientBase,
  tables: readonly TenantTable[],
  ledgerId: Uuid,
): Promise<void> {
  const state = await readLedgerState(client, ledgerId)
  if (state && state.closed !== 'moving' && state.closed !== 'moved')
    throw new Error('the ledger is open in this database: nothing was removed')
  for (const { name } of tables)
    await client.query(`delete from tallystick.${name} where ledger_id = $1`, [ledgerId])
}

const INSUFFICIENT_PRIVILEGE = '42501'

async function silenceTriggers(client: pg.ClientBase): Promise<void> {
  try {
    await client.query("set local session_replication_role = 'replica'")
  } catch (error) {
    if ((error as pg.DatabaseError).code !== INSUFFICIENT_PRIVILEGE) throw error
    throw new Error(
      'this login may not set session_replication_role: as superuser, ' +
        '`grant set on parameter session_replication_role to tallystick_owner` (docs/operate/capacity.md#moving-a-ledger)',
    )
  }
}

/**
 * Copies envelope keys that only the source has. The keys stay sealed. They verify the ledger's entries, and one of
 * them signs its next entry.
 */
async function copyServerKeys(source: pg.ClientBase, target: pg.ClientBase): Promise<void> {
  for (const table of ['server_keys', 'envelope_key_secrets']) {
    const where = table === 'server_keys' ? "where use = 'envelope'" : ''
    const { rows } = await source.query<{ row: string }>(
      `select t::text as row from tallystick.${table} t ${where}`,
    )
    await target.query(
      `insert into tallystick.${table} select * from unnest($1::tallystick.${table}[]) on conflict do nothing`,
      [rows.map(({ row }) => row)],
    )
  }
}

/**
 * Returns whether the target has retired the key that must sign the ledger's next entry. In this case the target's
 * servers would never open that key.
 */
export async function isKeyRetired(
  source: pg.ClientBase,
  target: pg.ClientBase,
  ledgerId: Uuid,
): Promise<boolean> {
  const { rows } = await source.query<{ kid: Buffer }>(
    'select envelope_kid as kid from tallystick.chain_heads where ledger_id = $1',
    [ledgerId],
  )
  const { rowCount } = await target.query(
    'select from tallystick.server_keys where kid = $1 and retired_at is not null',
    [rows[0]!.kid],
  )
  return rowCount === 1
}

/**
 * Replaces the server keys of a new deployment with the server keys of another deployment. Throws if the new deployment
 * has ledgers.
 */
export async function shareServerKeys(source: pg.ClientBase, target: pg.ClientBase): Promise<void> {
  await withTransaction(target, async () => {
    await target.query('lock table tallystick.chain_heads in exclusive mode')
    const { rowCount } = await target.query('select from tallystick.chain_heads limit 1')
    if (rowCount)
      throw new Error(
        'the target already has ledgers, which would lose their keys: share keys only with a target without ledgers',
      )
    for (const table of ['envelope_key_secrets', 'note_key_secrets', 'server_keys'])
      await target.query(`delete from tallystick.${table}`)
    for (const table of ['server_keys', 'envelope_key_secrets', 'note_key_secrets']) {
      const { rows } = await source.query<{ row: string }>(`select t::text as row from tallystick.${table} t`)
      await target.query(`insert into tallystick.${table} select * from unnest($1::tallystick.${table}[])`, [
        rows.map(({ row }) => row),
      ])
    }
  })
}

/**
 * Returns the applied migrations as text, and the note key's kid. A ledger can be moved only if both databases have
 * equal values.
 */
export async function readCompatibility(
  db: Db,
): Promise<{ readonly schema: string; readonly noteKid: string }> {
  const { rows } = await db.query<{ schema: string; noteKid: string }>(
    `select (select string_agg(format('%s %s', m.version, m.sha256), ', ' order by m.version) from tallystick.schema_migrations m) as schema,
       (select encode(kid, 'hex') from tallystick.server_keys where use = 'note' and retired_at is null) as note_kid`,
  )
  return rows[0]!
}

/**
 * Opens the copied ledger. From this commit on, the ledger belongs to this database.
 *
 * Clears jobs and leases of the source's worker, because they have no meaning here. Their work starts again.
 */
export async function activateLedger(client: pg.ClientBase, ledgerId: Uuid): Promise<void> {
  await withTransaction(client, async () => {
    await setClosed(client, ledgerId, ['moving'], null)
    for (const table of ['webhook_cursors', 'peer_cursors'])
      await client.query(
        `update tallystick.${table} set job_id = null, leased_until = null where ledger_id = $1`,
        [ledgerId],
      )
    await client.query(
      'update tallystick.waiting_completions set verification_job = null where ledger_id = $1 and verification_job is not null',
      [ledgerId],
    )
  })
}
