import assert from 'node:assert/strict'
import type { Uuid } from '../../src/proof/ids.ts'
import { database } from '../../src/verify/database.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'

export type Tampered = {
  sql<T extends object>(text: string, values?: unknown[]): Promise<T[]>
}

export async function verdictOf(
  superuserUrl: string,
  ledger: string,
  checkpoints: readonly string[] = [],
): Promise<string> {
  const report = await verifyLedger(database(superuserUrl, ledger), { threads: 1, checkpoints })
  if (report.ok) return 'OK'
  return `seq=${report.failure?.seq} ${report.failure?.code}: ${report.failure?.reason}`
}

export async function dropDefences(app: Tampered): Promise<void> {
  const constraints = await app.sql<{ statement: string }>(
    `select format('alter table %s drop constraint %I cascade', conrelid::regclass, conname) as statement
     from pg_constraint where connamespace = 'tallystick'::regnamespace and contype in ('c', 'u', 'f', 'p')
     order by contype = 'p'`,
  )
  const indexes = await app.sql<{ statement: string }>(
    `select format('drop index tallystick.%I', i.relname) as statement
     from pg_index x join pg_class i on i.oid = x.indexrelid
     where i.relnamespace = 'tallystick'::regnamespace and x.indisunique and not x.indisprimary
       and not exists (select from pg_constraint c where c.conindid = x.indexrelid)`,
  )
  const tables = await app.sql<{ statement: string }>(
    `select format('alter table tallystick.%I disable trigger all', tablename) as statement
     from pg_tables where schemaname = 'tallystick'`,
  )
  const generated = await app.sql<{ statement: string }>(
    `select format('alter table tallystick.%I alter column %I drop expression', table_name, column_name) as statement
     from information_schema.columns where table_schema = 'tallystick' and is_generated = 'ALWAYS'`,
  )
  for (const { statement } of [...indexes, ...constraints, ...tables, ...generated]) await app.sql(statement)
  const notNull = await app.sql<{ statement: string }>(
    `select format('alter table tallystick.%I alter column %I drop not null', table_name, column_name) as statement
     from information_schema.columns where table_schema = 'tallystick' and is_nullable = 'NO'`,
  )
  for (const { statement } of notNull) await app.sql(statement)
}

export type Column = {
  readonly table: string
  readonly column: string
  readonly type: string
  readonly cast: string
}

export const nameOf = ({ table, column }: Column) => `${table}.${column}`

export async function listColumns(app: Tampered): Promise<Column[]> {
  return app.sql<Column>(
    `select c.table_name as table, c.column_name as column, c.data_type as type,
       format_type(a.atttypid, a.atttypmod) as cast
     from information_schema.columns c
     join pg_attribute a on a.attrelid = format('tallystick.%I', c.table_name)::regclass and a.attname = c.column_name
     where c.table_schema = 'tallystick' order by c.table_name, c.ordinal_position`,
  )
}

/**
 * Changes a column in one row, preferably in a row of this ledger. Returns a function that restores the old value. The
 * old value is stored as text, which is exact for all types of the tables.
 */
export async function tamper(
  app: Tampered,
  { table, column, type, cast }: Column,
  ledgerId: Uuid,
): Promise<() => Promise<void>> {
  const [row] = await app.sql<{ id: string; old: string | null }>(
    `select ctid::text as id, ${column}::text as old from tallystick.${table} t
     order by not ${isOf('t', ledgerId)}, ${column} is null, ${orderOf(table)} limit 1`,
  )
  assert.ok(row, `${table} is empty: nothing of it was tested`)
  const changed = CHANGES[type]
  assert.ok(changed, `no change is known for ${type}`)
  const set = async (value: string, id: string) => {
    const [moved] = await app.sql<{ id: string }>(
      `update tallystick.${table} set ${column} = ${value} where ctid = '${id}' returning ctid::text as id`,
    )
    return moved!.id
  }
  const id = await set(changed.replaceAll('$', column), row.id)
  const old = row.old === null ? 'null' : `'${row.old.replaceAll("'", "''")}'::${cast}`
  return async () => void (await set(old, id))
}

export async function deleteRow(
  app: Tampered,
  table: string,
  order: 'asc' | 'desc',
  ledgerId: Uuid,
): Promise<void> {
  await app.sql(`delete from tallystick.${table} where ctid =
    (select ctid from tallystick.${table} t where ${isOf('t', ledgerId)} order by ${orderOf(table)} ${order} limit 1)`)
}

/** Returns an SQL condition that a row of any table belongs to the ledger or to no ledger. */
function isOf(row: string, ledgerId: Uuid): string {
  return `(coalesce(to_jsonb(${row}) ->> 'ledger_id', '${ledgerId}') = '${ledgerId}')`
}

export async function keepTable(app: Tampered, table: string): Promise<void> {
  await app.sql(`create table kept_${table} as table tallystick.${table}`)
}

export async function restoreTable(app: Tampered, table: string): Promise<void> {
  await app.sql(
    `delete from tallystick.${table}; insert into tallystick.${table} table kept_${table}; drop table kept_${table}`,
  )
}

/** Maps a type of column to an SQL expression for the smallest change of its value. A null becomes some value. */
const CHANGES: Record<string, string> = {
  bytea: "coalesce(set_byte($, length($) - 1, get_byte($, length($) - 1) # 1), '\\x7b7d')",
  uuid: "coalesce(overlay($::text placing case right($::text, 1) when '0' then '1' else '0' end from 36)::uuid, gen_random_uuid())",
  text: "coalesce($ || 'x', 'x')",
  bigint: 'coalesce($ + 1, 5)',
  integer: 'coalesce($ + 1, 5)',
  smallint: 'coalesce($ + 1, 5)',
  boolean: 'not $',
  ARRAY: '$[2:]',
  jsonb: "coalesce($, '{}') || '{\"changed\":true}'",
  real: 'coalesce($ + 1, 5)',
  'timestamp with time zone': "coalesce($, now()) + interval '1 microsecond'",
}

function orderOf(table: string): string {
  return (
    {
      entries: 'seq',
      records: 'first_seq',
      batch_chunks: 'seq, chunk',
      batch_keys: 'seq, chunk, key',
      gated_records: 'first_seq',
      documents: 'seq',
      tree_tiles: 'level, tile_index',
      server_keys: 'use',
      peers: 'added_seq',
    }[table] ?? '1'
  )
}
