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

/** A table of all rows, with the controls that each is evidence for (RFC 4180); the verifier's line stands in the last row. */
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

/** A spreadsheet takes what begins with these characters for a formula, and runs it: an apostrophe makes it text. */
export function csvField(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
