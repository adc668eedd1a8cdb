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

/** Yields a CSV table (RFC 4180) of all rows with their controls. The last row has the verifier's line. */
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

/** Spreadsheets run text that begins with these characters as a formula. An apostrophe prevents that. */
export function csvField(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
