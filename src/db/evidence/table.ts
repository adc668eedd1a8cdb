import type { Sha256 } from '../../proof/crypto.ts'
import type { VerifiedEntry } from '../../proof/entry/verify-entry.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import type { EntryDetail } from '../chain/entry-details.ts'
import { compare, compareRows } from './compare.ts'

/*
 * Compares one table's rows with the entries that explain them.
 *
 * Columns are an index, and the statement is the truth. An attacker who can write to the tables but cannot sign could
 * otherwise show records in another state, of another actor, or not at all, while the chain verifies.
 *
 * Columns travel as JSON to the thread that compares them: uuids as Postgres writes them, bytes in hex, times as
 * decimal strings of microseconds since the epoch.
 */
export type Evidence<Row extends { seq: number }, Columns> = {
  /** For messages. `table.column` if only rows with that column count. */
  readonly table: string
  /** Rows of ledger $1, ordered by `seq`, the entry that explains the row. */
  readonly sql: string
  readonly isLarge?: boolean
  /** Returns the columns to compare. MUST not throw for any value that a thief could store. */
  columns(row: Row, context: RowContext): Columns
  /** Compares an entry's rows with its statement. Throws `columns_contradict_entries` and names the column. */
  verify(entry: VerifiedEntry, rows: readonly Columns[], sha256: Sha256): void
}

/** `isErased`: whether a document of the entry was erased. */
export type RowContext = { readonly sha256: Sha256; readonly isErased: boolean }

/** Evidence whose rows are exactly those that the statement makes. */
export type SignedEvidence<Row extends { seq: number }, Columns> = Evidence<Row, Columns> & {
  signed(statement: ParsedStatement, sha256: Sha256): Columns[]
  /** Returns the entry detail of a row for a restore, as the append had it. */
  readonly detail: Detail<Columns> | null
}
type Detail<Columns> = (row: Columns, statement: ParsedStatement) => EntryDetail

/** Makes the evidence of a table whose columns are compared as selected. */
export function signedTable<Columns extends object>(
  table: string,
  sql: string,
  signed: (statement: ParsedStatement, sha256: Sha256) => Columns[],
  detail: Detail<Columns> | null = null,
): SignedEvidence<Columns & { seq: number }, Columns> {
  return {
    ...{ table, sql, signed, detail },
    columns: ({ seq: _, ...columns }) => columns as unknown as Columns,
    verify: ({ statement }, rows, sha256) => compareRows(table, rows, signed(statement, sha256)),
  }
}

/**
 * Makes the evidence of rows that an entry ends. `sql` selects `seq`, the ending column, and `id`, by which the entry
 * names the row.
 */
export function signedEnds<Id extends string | number>(
  column: `${string}.${string}`,
  sql: string,
  signed: (statement: ParsedStatement) => Id[],
  detail: Detail<Id>,
): SignedEvidence<{ seq: number; id: Id }, Id> {
  const [table, name] = column.split('.') as [string, string]
  return {
    ...{ table: column, sql, signed, detail },
    columns: ({ id }) => id,
    verify: ({ statement }, rows) => compare(table, name, rows, signed(statement)),
  }
}

/**
 * SQL: microseconds as decimal text. Must not fail for any value that a thief could store: a failed query would look
 * like an outage and not like tampering.
 */
export const microsecondsOf = (column: string) => `trunc(extract(epoch from ${column}) * 1000000)::text`
