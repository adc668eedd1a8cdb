import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { bytea, type Codec, encodeColumn, text } from '../connect/binary-array.ts'

/* Rows of a ledger that comes back from its archive, many in one statement. */

/** Canonical JSON, stored as bytes. */
export const json: Codec<string> = { ...text, type: bytea.type, oid: bytea.oid }

export type Column<Row> = { readonly type: string; encode(rows: readonly Row[]): Buffer }

export function column<Row, T>(codec: Codec<T>, get: (row: Row) => T | null | undefined): Column<Row> {
  return { type: codec.type, encode: (rows) => encodeColumn(codec, rows, get) }
}

/** `$from`, `$from + 1` … as arrays, for unnest. */
export function parameters(columns: readonly { readonly type: string }[], from: number): string {
  return columns.map(({ type }, i) => `$${from + i}::${type}[]`).join(', ')
}

/** Inserts rows of the ledger: columns by their names. */
export async function insert<Row>(
  client: pg.ClientBase,
  table: string,
  ledgerId: Uuid,
  columns: Readonly<Record<string, Column<Row>>>,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return
  const names = Object.keys(columns).join(', ')
  const values = Object.values(columns)
  await client.query({
    name: `restore ${table}`,
    text: `insert into tallystick.${table} (ledger_id, ${names})
      select $1, n.* from unnest(${parameters(values, 2)}) n`,
    values: [ledgerId, ...values.map((one) => one.encode(rows))],
  })
}
