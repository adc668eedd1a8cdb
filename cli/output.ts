import { plain } from '../sdk/plain.ts'
import { escapeHidden } from '../src/proof/quoted.ts'
import { type Out, write } from './io.ts'

export const OUTPUT_OPTIONS = { json: { type: 'boolean' } } as const
export const OUTPUT_HELP =
  '  --json           one JSON object a line, also on a terminal; in a pipe that is the default'

/** A table column: its heading, and a function that returns the cell of an item. */
export type Column<T> = readonly [heading: string, show: (item: T) => string | number | null]

const ROWS_A_TABLE = 100
const CELL_CHARS_MAX = 60
const JSON_CHARS_MAX = 100

/** Prints an object: on a terminal one line per non-empty field, otherwise one line of JSON. */
export function printItem(item: object, json: boolean | undefined, out: Out): void {
  if (json || !out.isTTY) {
    out.write(jsonLine(item, out))
    return
  }
  const rows = rowsOf(item)
  const width = Math.min(CELL_CHARS_MAX, Math.max(...rows.map(([name]) => name.length)))
  for (const [name, text] of rows) out.write(`${plain(name.padEnd(width))}  ${plain(text)}\n`)
}

/** Returns the rows of an object for a terminal. A member with long JSON gets one row for each of its own members. */
function rowsOf(item: object, before = ''): (readonly [name: string, text: string])[] {
  return Object.entries(item).flatMap(([member, value]) => {
    const name = `${before}${member}`
    if (typeof value === 'string') return [[name, value]]
    const json = JSON.stringify(value)
    if (json === undefined || ['null', '[]', '{}'].includes(json)) return []
    if (json.length > JSON_CHARS_MAX && !Array.isArray(value)) return rowsOf(value as object, `${name}.`)
    return [[name, json]]
  })
}

/** Prints items as they arrive: a table on a terminal, otherwise one line of JSON for each item. */
export async function printItems<T extends object>(
  items: AsyncIterable<T>,
  columns: readonly Column<T>[],
  json: boolean | undefined,
  out: Out,
): Promise<void> {
  if (json || !out.isTTY) {
    for await (const item of items) await write(out, jsonLine(item, out))
    return
  }
  let rows: string[][] = []
  let widths: number[] | null = null
  const flush = () => {
    const lines = widths === null ? [columns.map(([heading]) => heading), ...rows] : rows
    widths ??= columns.map((_column, i) => Math.max(...lines.map((row) => row[i]!.length)))
    for (const row of lines)
      out.write(
        `${row
          .map((cell, i) => cell.padEnd(widths![i]!))
          .join('  ')
          .trimEnd()}\n`,
      )
    rows = []
  }
  for await (const item of items) {
    if (rows.push(columns.map(([, show]) => cell(show(item)))) >= ROWS_A_TABLE) flush()
  }
  if (rows.length > 0 || widths === null) flush()
}

function cell(value: string | number | null): string {
  const text = plain(String(value ?? ''))
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX - 1)}…` : text
}

/** Returns a line of JSON. For a terminal, hidden characters are escaped. The JSON value stays the same. */
export function jsonLine(item: unknown, out: Pick<Out, 'isTTY'>): string {
  const json = JSON.stringify(item)
  return `${out.isTTY ? escapeHidden(json) : json}\n`
}

/** Returns a line of text for scripts. For a terminal, control characters are replaced. */
export function textLine(text: string, out: Pick<Out, 'isTTY'>): string {
  return `${out.isTTY ? plain(text) : text}\n`
}
