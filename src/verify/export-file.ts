import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { concat } from '../proof/bytes.ts'
import { ProofError } from '../proof/error.ts'
import {
  DOCUMENTS_WITHHELD,
  type ExportHead,
  NO_EXPORT,
  parseExportHead,
  parseExportTail,
} from '../proof/ledger/export-ends.ts'
import { END_LINE_BYTES_MAX, LINE_BYTES_MAX } from '../proof/limits.ts'
import { findNamedKeys } from '../proof/offline/key-hints.ts'
import { loadProviders } from './providers.ts'
import { type EntryRange, type LedgerSource, type OpenLedger, SourceError } from './source.ts'

/**
 * Size in bytes of a range that is verified at a time. A longer line is a range of its own.
 *
 * From 16 to 256 KiB, the CPU time of an entry is the same within 3 %, but the memory with two threads grows from 227
 * to 310 MB. With 1 MiB, CPU time and memory are 5 % higher.
 */
const RANGE_BYTES = 64 * 1024
const SMALL_BYTES_MAX = 4 * 1024 * 1024
const NEWLINE = 0x0a

/**
 * Returns the export in a file (docs/formats/export.md) as a source. An export is `{"export":1,…}`, one line for each
 * entry, and `{"checkpoint":…}`. The first and the last line are read first.
 */
export function exportFile(path: string, name = path): LedgerSource {
  return {
    name,
    async open(): Promise<OpenLedger> {
      const file = await openFile(path)
      try {
        return await openExport(file, path, name)
      } catch (error) {
        await file.close()
        throw error
      }
    },
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, 'r')
    if ((await file.stat()).isFile()) return file
    await file.close()
    throw new SourceError('io', `${path} is not a file`)
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw unreadable(path, error)
  }
}

function unreadable(path: string, error: unknown): SourceError {
  const { code } = error as NodeJS.ErrnoException
  return new SourceError(
    'io',
    code === 'ENOENT' ? `${path}: no such file` : `${path} cannot be read (${code})`,
    { cause: error },
  )
}

async function openExport(file: FileHandle, path: string, name: string): Promise<OpenLedger> {
  const { size } = await file.stat()
  const failing = (error: unknown): never => {
    throw unreadable(path, error)
  }
  const head = await readHead(file, size).catch(failing)
  const { ledger, keys, documents } = readExportHead(head.line, name)
  const tail = await readTail(file, head.end, size).catch(failing)
  const checkpoint = readExportTail(tail.line, name)
  findNamedKeys(keys, (await loadProviders()).sha256)
  const checkpoints = checkpoint === null ? [] : [checkpoint]
  return {
    ledger,
    keys,
    documents,
    notices: documents === 'withheld' ? [DOCUMENTS_WITHHELD] : [],
    total: tail.start - head.end,
    isSmall: tail.start - head.end < SMALL_BYTES_MAX,
    ranges: () => readRanges(bytesOf(file, path, head.end, tail.start), checkpoints),
    close: () => file.close(),
  }
}

/** Reads the first line. `end`: offset after the line's newline. */
async function readHead(file: FileHandle, size: number): Promise<{ line: Uint8Array; end: number }> {
  const bytes = await readUpTo(file, 0, Math.min(size, END_LINE_BYTES_MAX + 1))
  const end = bytes.indexOf(NEWLINE)
  return end < 0 ? { line: NOTHING, end: 0 } : { line: bytes.subarray(0, end), end: end + 1 }
}

const NOTHING = new Uint8Array(0)

/**
 * Reads the last line from the end of the file. `start`: offset of the line. The file may end with or without a
 * newline.
 */
async function readTail(
  file: FileHandle,
  from: number,
  size: number,
): Promise<{ line: Uint8Array; start: number }> {
  const at = Math.max(from, size - END_LINE_BYTES_MAX - 2)
  const bytes = await readUpTo(file, at, size - at)
  const end = bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length
  const newline = end === 0 ? -1 : bytes.lastIndexOf(NEWLINE, end - 1)
  if (newline < 0 && at > from) return { line: NOTHING, start: size }
  return { line: bytes.subarray(newline + 1, end), start: at + newline + 1 }
}

async function readUpTo(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

/** Parses the first line. Throws SourceError if it is not the first line of an export. */
function readExportHead(line: Uint8Array, name: string): ExportHead {
  const head = parseExportHead(line)
  if (head === null) throw new SourceError('not_a_ledger', `${name} is ${NO_EXPORT}`)
  return head
}

/** Parses the last line. Errors contain the file's name. */
function readExportTail(line: Uint8Array, name: string): string | null {
  try {
    return parseExportTail(line)
  } catch (error) {
    const { code, detail } = error as ProofError
    throw new ProofError(code, `${name} is ${detail}`)
  }
}

async function* bytesOf(file: FileHandle, path: string, from: number, to: number): AsyncGenerator<Buffer> {
  if (from === to) return
  try {
    yield* createReadStream('', {
      fd: file,
      start: from,
      end: to - 1,
      highWaterMark: RANGE_BYTES,
      autoClose: false,
    })
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** Yields whole lines, about RANGE_BYTES at a time. */
async function* readRanges(
  stream: AsyncIterable<Buffer>,
  checkpoints: readonly string[],
): AsyncGenerator<EntryRange> {
  let rest: Buffer[] = []
  let restBytes = 0
  let progress = 0
  let notes = checkpoints
  for await (const bytes of stream) {
    const cut = bytes.lastIndexOf(NEWLINE) + 1
    if (cut > 0) {
      // The lines are copied to a buffer of their own, because the buffer is transferred to another thread.
      const lines = concat([...rest, bytes.subarray(0, cut)])
      progress += lines.length
      yield { lines, checkpoints: notes, rows: null, progress }
      notes = []
      rest = []
      restBytes = 0
    }
    rest.push(bytes.subarray(cut))
    restBytes += bytes.length - cut
    if (restBytes > LINE_BYTES_MAX) {
      throw new SourceError(
        'not_a_ledger',
        `a line is longer than ${LINE_BYTES_MAX} bytes: this is not an export of a ledger`,
      )
    }
  }
}
