import type { Sha256 } from '../../proof/crypto.ts'
import type { VerifiedEntry } from '../../proof/entry/verify-entry.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import type { EntryDetail } from '../chain/entry-details.ts'
import { compare, compareRows } from './compare.ts'

/*
 * One table of evidence: its rows, and what an entry says that they are. Columns are an index, and the statement is the truth: an attacker
 * who can write to the tables, but not sign, could otherwise show records in another state, of another actor, or none at all, while the chain
 * verifies.
 *
 * Columns are JSON on their way to the thread that compares: uuids as Postgres writes them, bytes in hex, times in microseconds since the
 * epoch as decimal strings.
 */
export type Evidence<Row extends { seq: number }, Columns> = {
  /** For messages; `table.column` where the rows are those in which the column is filled. */
  readonly table: string
  /** Rows of a ledger ($1), in the order of `seq`: the entry that explains each. */
  readonly sql: string
  /** Whether rows may be megabytes each. */
  readonly isLarge?: boolean
  /** Columns that are compared. MUST not throw for any value that a thief could store. */
  columns(row: Row, context: RowContext): Columns
  /** Compares the rows of an entry with what it says. Throws `columns_contradict_entries`, naming the column. */
  verify(entry: VerifiedEntry, rows: readonly Columns[], sha256: Sha256): void
}

/** `isErased`: whether a document of the entry was taken away. */
export type RowContext = { readonly sha256: Sha256; readonly isErased: boolean }

/** Evidence whose rows are just those that the statement makes. */
export type SignedEvidence<Row extends { seq: number }, Columns> = Evidence<Row, Columns> & {
  /** The rows that the statement makes. */
  signed(statement: ParsedStatement, sha256: Sha256): Columns[]
  /** Detail of the entry of a row, as its append had it, for a restore. */
  readonly detail: Detail<Columns> | null
}
type Detail<Columns> = (row: Columns, statement: ParsedStatement) => EntryDetail

/** A table whose columns are compared as they are selected. */
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

/** Rows that an entry ends: `sql` selects `seq`, the column, and `id`, by which the entry names the row. */
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
 * As decimal text. It must not throw for any value that a thief could store: a failed query would look like an outage, not like tampering.
 */
export const microsecondsOf = (column: string) => `trunc(extract(epoch from ${column}) * 1000000)::text`
