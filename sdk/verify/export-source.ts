import { concat } from '../../src/proof/bytes.ts'
import { ProofError } from '../../src/proof/error.ts'
import { END_LINE_BYTES_MAX, LINE_BYTES_MAX } from '../../src/proof/limits.ts'
import { asBytes, type Bytes } from '../bytes.ts'
import { UsageError } from '../errors.ts'
import { bytesOf } from '../http/answers.ts'

type Stream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

/**
 * A whole export: text, bytes, a file, or a function that opens a stream. The function is called twice, because the
 * checkpoint is at the end and must be read first.
 */
export type ExportSource = string | Bytes | Blob | (() => Stream | Promise<Stream>)

export type OpenExport = {
  /** Length of the whole source in bytes. It is known after `readLastLine`. */
  bytesTotal(): number
  readLastLine(): Promise<Uint8Array>
  blocks(): AsyncIterable<Block>
}

/** A block of complete lines. The last line of the source is a separate block, without its newline. */
export type Block = { readonly lines: Uint8Array; readonly isLast: boolean }

/**
 * Size of a block in bytes. The signatures of a block are checked in parallel. A block of 64 KiB contains about a
 * hundred entries.
 */
const BLOCK_BYTES = 64 * 1024
const NEWLINE = 0x0a

export function openExport(source: ExportSource): OpenExport {
  if (typeof source === 'function') return openStreams(source)
  if (source instanceof Blob) return openBlob(source)
  const content = typeof source === 'string' ? source : asBytes(source)
  if (content !== null) return openBlob(new Blob([content]))
  throw new UsageError(
    'an export must be text, bytes, a Blob, or a function that opens a stream of it (it is read twice, and a stream can only be read once)',
  )
}

function openBlob(blob: Blob): OpenExport {
  return {
    bytesTotal: () => blob.size,
    // Reads enough bytes for the last line and the newlines before and after it.
    readLastLine: () => lastLineOf(bytesOf(blob.slice(-END_LINE_BYTES_MAX - 2).stream())),
    blocks: () => blocksOf(bytesOf(blob.stream())),
  }
}

function openStreams(open: () => Stream | Promise<Stream>): OpenExport {
  let total = 0
  async function* read(onPiece: (bytes: number) => void) {
    const stream = await open()
    for await (const piece of 'getReader' in stream ? bytesOf(stream) : stream) {
      onPiece(piece.length)
      yield piece
    }
  }
  return {
    bytesTotal: () => total,
    readLastLine: () =>
      lastLineOf(
        read((bytes) => {
          total += bytes
        }),
      ),
    blocks: () => blocksOf(read(() => {})),
  }
}

async function lastLineOf(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  for await (const { lines, isLast } of blocksOf(pieces)) if (isLast) return lines
  return new Uint8Array(0)
}

/**
 * Yields blocks of complete lines. A line is not yielded before the next line begins, because it may be the last line.
 */
async function* blocksOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Block> {
  let pending: Uint8Array[] = []
  let pendingBytes = 0
  /** Number of bytes in `pending` that are complete lines with another line after them. */
  let readyBytes = 0
  for await (const part of cut(pieces)) {
    const end = part.subarray(0, -1).lastIndexOf(NEWLINE) + 1
    if (end > 0) readyBytes = pendingBytes + end
    else if (pending.at(-1)?.at(-1) === NEWLINE) readyBytes = pendingBytes
    pending.push(part)
    pendingBytes += part.length
    if (readyBytes >= BLOCK_BYTES) {
      const bytes = concat(pending)
      yield { lines: bytes.subarray(0, readyBytes), isLast: false }
      pending = [bytes.subarray(readyBytes)]
      pendingBytes -= readyBytes
      readyBytes = 0
    }
    if (pendingBytes - readyBytes > LINE_BYTES_MAX)
      throw new ProofError('line_syntax', `a line is longer than ${LINE_BYTES_MAX} bytes`)
  }
  const bytes = concat(pending)
  if (readyBytes > 0) yield { lines: bytes.subarray(0, readyBytes), isLast: false }
  const last = bytes.subarray(readyBytes)
  yield { lines: last.at(-1) === NEWLINE ? last.subarray(0, -1) : last, isLast: true }
}

/**
 * Joins small chunks of a stream. Yields chunks of BLOCK_BYTES; the last one may be shorter. Without this, tiny chunks
 * would take a hundred times their size in memory until a line ends.
 */
async function* cut(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let part = new Uint8Array(BLOCK_BYTES)
  let filled = 0
  for await (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const taken = piece.subarray(from, from + BLOCK_BYTES - filled)
      part.set(taken, filled)
      filled += taken.length
      from += taken.length
      if (filled < BLOCK_BYTES) continue
      yield part
      part = new Uint8Array(BLOCK_BYTES)
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}
