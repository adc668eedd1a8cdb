import type { Sha256 } from '../../proof/crypto.ts'
import type { VerifiedEntry } from '../../proof/entry/verify-entry.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import type { EntryDetail } from '../chain/entry-details.ts'
import { compare, compareRows } from './compare.ts'

/*
 * Compares one table's rows with the entries that explain the rows.
 *
 * Only statements are signed. Columns are an index over the statements. An attacker may be able to write to the tables,
 * but cannot sign. Without this comparison, the attacker could hide records, or show them in another state or of
 * another actor, and the chain would still verify.
 *
 * Columns are passed as JSON to the thread that compares them: uuids as Postgres writes them, bytes in hex, times as
 * decimal strings of microseconds since 1970.
 */
export type Evidence<Row extends { seq: number }, Columns> = {
  /** Name of the table for messages. It is `table.column` if only rows with a value in that column are compared. */
  readonly table: string
  /** SQL that selects rows of ledger $1, ordered by `seq`. `seq` is the entry that explains the row. */
  readonly sql: string
  readonly isLarge?: boolean
  /** Returns the columns to compare. MUST NOT throw, because an attacker may have stored any values. */
  columns(row: Row, context: RowContext): Columns
  /** Compares an entry's rows with its statement. Throws `columns_contradict_entries` with the name of the column. */
  verify(entry: VerifiedEntry, rows: readonly Columns[], sha256: Sha256): void
}

/** Context of a row. `isErased` is true if a document of the row's entry was erased. */
export type RowContext = { readonly sha256: Sha256; readonly isErased: boolean }

/** Evidence in which the statement alone determines all rows. */
export type SignedEvidence<Row extends { seq: number }, Columns> = Evidence<Row, Columns> & {
  signed(statement: ParsedStatement, sha256: Sha256): Columns[]
  /** Returns the details with which the row's entry was appended. Used by a restore. */
  readonly detail: Detail<Columns> | null
}
type Detail<Columns> = (row: Columns, statement: ParsedStatement) => EntryDetail

/** Makes the evidence of a table. The columns that its SQL selects are compared without conversion. */
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
 * Makes the evidence of rows that a later entry ends, such as revoked keys. `sql` selects two columns: `seq`, the entry
 * that ended the row, and `id`, by which that entry names the row.
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
 * Returns SQL for a time in microseconds as decimal text. The SQL must not fail, although an attacker may have stored
 * any values. A failed query would look like an outage and not like tampering.
 */
export const microsecondsOf = (column: string) => `trunc(extract(epoch from ${column}) * 1000000)::text`
