import { BATCH_ITEMS_MAX } from '../src/db/limits.ts'
import { BATCH_BODY_BYTES_MAX, RECORD_BODY_BYTES_MAX } from '../src/records/limits.ts'
import type { Io } from './io.ts'
import { decodeText, nameOf, openInput, parseObject } from './json-input.ts'
import { InputError } from './run.ts'

export type Line = { readonly place: string; readonly number: number; readonly text: string }

/** Lines of one request. `index`: number of the batch, counted from 1 over all files. */
export type LineBatch = {
  readonly index: number
  readonly lines: readonly Line[]
  /** Items for `POST /v1/records/batch`, one for each line. */
  readonly items: readonly string[]
}

export type BatchLimits = {
  readonly linesMax: number
  /** Makes a batch item as JSON. `line`: a line with a JSON object. */
  readonly toItem: (line: string) => string
}

export const BATCH_LINES_DEFAULT = 1_000
export const BATCH_LINES_MAX = BATCH_ITEMS_MAX

const ITEMS_BYTES_MAX = BATCH_BODY_BYTES_MAX - '{"records":[]}'.length

/**
 * Yields the lines of the files in batches. The boundaries depend only on the lines, never on time, so that a repeated
 * command sends the same batches. Only one batch is in memory at a time. Throws InputError with the position of a line
 * that is not a JSON object.
 */
export async function* batchLines(
  files: readonly string[],
  io: Io,
  { linesMax, toItem }: BatchLimits,
): AsyncGenerator<LineBatch, void, undefined> {
  let lines: Line[] = []
  let items: string[] = []
  let bytes = 0
  let index = 0
  const take = (): LineBatch => {
    const batch = { index: ++index, lines, items }
    lines = []
    items = []
    bytes = 0
    return batch
  }
  for (const file of files) {
    for await (const line of readLines(file, io)) {
      const item = toItem(line.text)
      const itemBytes = Buffer.byteLength(item) + 1 // the item and its comma
      if (lines.length === linesMax || (lines.length > 0 && bytes + itemBytes > ITEMS_BYTES_MAX)) yield take()
      lines.push(line)
      items.push(item)
      bytes += itemBytes
    }
  }
  if (lines.length > 0) yield take()
}

/** Yields the lines that are not empty. Line numbers also count empty lines. */
async function* readLines(file: string, io: Io): AsyncGenerator<Line, void, undefined> {
  let number = 0
  for await (const bytes of splitLines(file, io)) {
    number++
    const place = `line ${number} of ${nameOf(file)}`
    const text = decodeText(bytes, place)
    if (text.trim() === '') continue
    // The text is parsed only to check it. It is sent as it was written.
    parseObject(text, place)
    yield { place, number, text }
  }
}

const NEWLINE = 0x0a

async function* splitLines(file: string, io: Io): AsyncGenerator<Uint8Array, void, undefined> {
  let pieces: Uint8Array[] = []
  let pending = 0
  let number = 1
  for await (const chunk of openInput(file, io)) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...pieces, chunk.subarray(from, end)])
      number++
      pieces = []
      pending = 0
      from = end + 1
    }
    if (from === chunk.length) continue
    pieces.push(chunk.subarray(from))
    pending += chunk.length - from
    if (pending > RECORD_BODY_BYTES_MAX)
      throw new InputError(
        `line ${number} of ${nameOf(file)} has more than ${RECORD_BODY_BYTES_MAX} bytes, the maximum of a record`,
      )
  }
  if (pending > 0) yield Buffer.concat(pieces)
}
