import { DRIVING, plain } from '../sdk/plain.ts'
import { type Out, write } from './io.ts'

/** Options of every command that shows things. */
export const OUTPUT_OPTIONS = { json: { type: 'boolean' } } as const
export const OUTPUT_HELP =
  '  --json           JSON, one object a line, also on a terminal; what is piped is JSON in any case'

/** A column of a table: its heading, and what an item shows in it. */
export type Column<T> = readonly [heading: string, show: (item: T) => string | number | null]

const ROWS_A_TABLE = 100
const CELL_CHARS_MAX = 60

/** One object: its fields one a line on a terminal, otherwise one line of JSON. */
export function printItem(item: object, json: boolean | undefined, out: Out): void {
  if (json || !out.isTTY) {
    out.write(jsonLine(item, out))
    return
  }
  const width = Math.min(CELL_CHARS_MAX, Math.max(...Object.keys(item).map((name) => name.length)))
  for (const [name, value] of Object.entries(item)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    out.write(`${plain(name.padEnd(width))}  ${plain(text)}\n`)
  }
}

/** Many: a table on a terminal, otherwise a line of JSON each, as they come. */
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

/** A line of JSON; for a terminal with what could drive it escaped, which is the same JSON. */
export function jsonLine(item: unknown, out: Pick<Out, 'isTTY'>): string {
  const json = JSON.stringify(item)
  const escapeOf = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${out.isTTY ? json.replaceAll(DRIVING, escapeOf) : json}\n`
}

/** A line that scripts read as it is; for a terminal with nothing in it that could drive it. */
export function textLine(text: string, out: Pick<Out, 'isTTY'>): string {
  return `${out.isTTY ? plain(text) : text}\n`
}
