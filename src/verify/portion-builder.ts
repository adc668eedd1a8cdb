import type { EntryColumns } from './entry-columns.ts'
import type { EntryPortion } from './source.ts'

/** Bytes of lines, and entries, handed over at a time. */
const PORTION_BYTES = 256 * 1024
const PORTION_ENTRIES = 512

/** Lines, their columns and the checkpoints on the way. Once built, it begins anew. */
export class PortionBuilder {
  #lines: string[] = []
  #columns: string[] = []
  #notes: string[] = []
  #bytes = 0
  #progress = 0

  add(line: string, columns: EntryColumns, notes: readonly string[], progress: number): void {
    this.#lines.push(line)
    this.#columns.push(JSON.stringify(columns))
    this.#notes.push(...notes)
    this.#bytes += line.length
    this.#progress = progress
  }

  get isFull(): boolean {
    return this.#bytes >= PORTION_BYTES || this.#lines.length >= PORTION_ENTRIES
  }

  build(): EntryPortion {
    const portion = {
      lines: encodeLines(this.#lines),
      columns: encodeLines(this.#columns),
      checkpoints: this.#notes,
      progress: this.#progress,
    }
    this.#lines = []
    this.#columns = []
    this.#notes = []
    this.#bytes = 0
    return portion
  }
}

function encodeLines(lines: readonly string[]): Uint8Array {
  return new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''))
}
