import { type ControlMap, controlsOf } from './control-map.ts'
import type { ReportRow } from './rows.ts'

const COLUMNS = [
  'seq',
  'recordedAt',
  'kind',
  'record',
  'type',
  'agent',
  'onBehalfOf',
  'outcome',
  'denied',
  'signedBy',
  'leaf',
] as const satisfies readonly (keyof ReportRow)[]

/** Yields a CSV table (RFC 4180) of all rows with their controls. The last row is the verifier's last line. */
export async function* csvOf(
  rows: AsyncIterable<ReportRow>,
  map: ControlMap,
  verdict: string,
): AsyncGenerator<string, void, undefined> {
  yield csvLine([...COLUMNS, 'controls'])
  for await (const row of rows) {
    yield csvLine([...COLUMNS.map((name) => String(row[name])), controlsOf(map, row).join(' ')])
  }
  yield csvLine([verdict])
}

function csvLine(fields: readonly string[]): string {
  return `${fields.map(csvField).join(',')}\r\n`
}

/**
 * Returns a CSV field. If the value begins with a character with which spreadsheets begin a formula, adds an apostrophe
 * before it.
 */
export function csvField(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
