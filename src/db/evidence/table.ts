import type { Sha256 } from '../../proof/crypto.ts'
import type { VerifiedEntry } from '../../proof/entry/verify-entry.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import type { EntryDetail } from '../chain/entry-details.ts'
import { compare, compareRows } from './compare.ts'

/*
 * Compares one table's rows with the entries that explain them.
 *
 * Only statements are signed; columns are an index over them. Without this comparison, an attacker who can write to
 * the tables but cannot sign could show records in another state, of another actor, or not at all, and the chain
 * would still verify.
 *
 * Columns are passed as JSON to the thread that compares them: uuids as Postgres writes them, bytes in hex, times as
 * decimal strings of microseconds since the epoch.
 */
export type Evidence<Row extends { seq: number }, Columns> = {
  /** Name for messages. It is `table.column` if only rows with a value in that column are compared. */
  readonly table: string
  /** SQL: rows of ledger $1, ordered by `seq`, which is the entry that explains the row. */
  readonly sql: string
  readonly isLarge?: boolean
  /** Returns the columns to compare. MUST NOT throw, whatever values an attacker has stored. */
  columns(row: Row, context: RowContext): Columns
  /** Compares an entry's rows with its statement. Throws `columns_contradict_entries`, with the column's name. */
  verify(entry: VerifiedEntry, rows: readonly Columns[], sha256: Sha256): void
}

/** Context of a row. `isErased`: a document of the row's entry was erased. */
export type RowContext = { readonly sha256: Sha256; readonly isErased: boolean }

/** Evidence in which the statement alone determines all rows. */
export type SignedEvidence<Row extends { seq: number }, Columns> = Evidence<Row, Columns> & {
  signed(statement: ParsedStatement, sha256: Sha256): Columns[]
  /** Returns the entry detail of a row, as it was when the entry was appended. Used by a restore. */
  readonly detail: Detail<Columns> | null
}
type Detail<Columns> = (row: Columns, statement: ParsedStatement) => EntryDetail

/** Makes the evidence of a table whose columns are compared as SQL selects them. */
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
 * Makes the evidence of rows that an entry ends. `sql` selects `seq`, which is the column with the end, and `id`, by
 * which the entry names the row.
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
 * SQL: microseconds as decimal text. It must not fail, whatever values an attacker has stored, because a failed query
 * would look like an outage and not like tampering.
 */
export const microsecondsOf = (column: string) => `trunc(extract(epoch from ${column}) * 1000000)::text`
