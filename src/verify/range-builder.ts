import type { EntryColumns } from '../db/evidence/tables.ts'
import { concat } from '../proof/bytes.ts'
import type { EntryRange } from './source.ts'

/** Maximum size of a range, in bytes of lines and chunks. RANGE_ENTRIES is the maximum number of entries. */
const RANGE_BYTES = 256 * 1024
const RANGE_ENTRIES = 512

type Line = {
  readonly line: string
  readonly columns: EntryColumns
  /** Contents of the chunks in `columns.chunks`. */
  readonly contents: readonly Uint8Array[]
  /** Notes of the checkpoints that end with this entry. */
  readonly notes: readonly string[]
  readonly progress: number
}

/** Collects lines with their columns and checkpoints. `build` returns them and empties the builder. */
export class RangeBuilder {
  #lines: string[] = []
  #columns: string[] = []
  #contents: Uint8Array[] = []
  #notes: string[] = []
  #bytes = 0
  #progress = 0

  add({ line, columns, contents, notes, progress }: Line): void {
    this.#lines.push(line)
    this.#columns.push(JSON.stringify(columns))
    this.#contents.push(...contents)
    this.#notes.push(...notes)
    this.#bytes += line.length
    for (const content of contents) this.#bytes += content.length
    this.#progress = progress
  }

  get isFull(): boolean {
    return this.#bytes >= RANGE_BYTES || this.#lines.length >= RANGE_ENTRIES
  }

  build(): EntryRange {
    const range = {
      lines: encodeLines(this.#lines),
      rows: { columns: encodeLines(this.#columns), contents: concat(this.#contents) },
      checkpoints: this.#notes,
      progress: this.#progress,
    }
    this.#lines = []
    this.#columns = []
    this.#contents = []
    this.#notes = []
    this.#bytes = 0
    return range
  }
}

function encodeLines(lines: readonly string[]): Uint8Array {
  return new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''))
}
