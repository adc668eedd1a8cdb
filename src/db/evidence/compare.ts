import type { ProofError } from '../../proof/error.ts'
import { contradiction } from './contradiction.ts'

/*
 * Compares columns with signed values. If they differ, the functions throw `columns_contradict_entries` with the name
 * of the column.
 */

export function compareRows<T extends object>(
  table: string,
  rows: readonly T[],
  expected: readonly T[],
): void {
  if (rows.length !== expected.length) {
    throw contradiction(`${table}: ${rows.length} rows of this entry, but ${expected.length} were signed`)
  }
  for (const [i, row] of rows.entries()) {
    for (const name of Object.keys(expected[i]!) as (keyof T & string)[]) {
      compare(table, columnName(name), row[name], expected[i]![name])
    }
  }
}

export function compare(table: string, column: string, found: unknown, signed: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(signed))
    throw columnContradiction(table, column, found, signed)
}

export function columnContradiction(
  table: string,
  column: string,
  found: unknown,
  signed: unknown,
): ProofError {
  return contradiction(
    `${table}.${column} is ${JSON.stringify(found)}, but ${JSON.stringify(signed)} was signed`,
  )
}

/** Returns the column of a member. For example, `occurredAtUs` becomes `occurred_at`. */
function columnName(name: string): string {
  return name.replace(/Us$/, '').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
