import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { concat } from '../proof/bytes.ts'
import { ProofError } from '../proof/error.ts'
import type { DocumentsShown } from '../proof/verify-entry.ts'
import { type EntryChunk, type KeyHint, type LedgerSource, type OpenLedger, SourceError } from './source.ts'

/**
 * Bytes of lines handed to one worker at a time; a longer line goes alone. From 16 to 256 KiB the CPU time of an
 * entry is the same within 3 %, the memory is not (227 to 310 MB with two threads); 1 MiB costs 5 % more of both.
 */
const CHUNK_BYTES = 64 * 1024
/** The first line holds the keys, the last a note. */
const END_LINE_BYTES_MAX = 1024 * 1024
/** A batch's documents have 18 MiB at most: in a body of 4 MiB `1e20`, which is 21 digits in canonical form. */
const LINE_BYTES_MAX = 32 * 1024 * 1024
const SMALL_BYTES_MAX = 4 * 1024 * 1024
const NEWLINE = 0x0a

/** An export (docs/formats/export.md): `{"export":1,…}`, a line for each entry, `{"checkpoint":…}`. Ends are read first. */
export function exportFile(path: string, name = path): LedgerSource {
  return {
    name,
    async open(): Promise<OpenLedger> {
      const file = await openFile(path, name)
      try {
        return await openExport(file, name)
      } catch (error) {
        await file.close()
        throw error
      }
    },
  }
}

async function openFile(path: string, name: string): Promise<FileHandle> {
  try {
    const file = await open(path, 'r')
    if ((await file.stat()).isFile()) return file
    await file.close()
    throw new SourceError('io', `${name} is not a file`)
  } catch (error) {
    if (error instanceof SourceError) throw error
    const code = (error as NodeJS.ErrnoException).code
    throw new SourceError(
      'io',
      code === 'ENOENT' ? `${name}: no such file` : `${name} cannot be read (${code})`,
    )
  }
}

async function openExport(file: FileHandle, name: string): Promise<OpenLedger> {
  const { size } = await file.stat()
  const head = await readHead(file, size)
  const { ledger, keys, documents } = parseHead(head.text, name)
  const tail = await readTail(file, head.end, size)
  const checkpoint = parseTail(tail.text, name)
  const checkpoints = checkpoint === null ? [] : [checkpoint]
  return {
    ledger,
    keys,
    documents,
    notices: documents === 'withheld' ? [WITHHELD] : [],
    total: tail.start - head.end,
    isSmall: tail.start - head.end < SMALL_BYTES_MAX,
    chunks: () => readChunks(file, head.end, tail.start, checkpoints),
    close: () => file.close(),
  }
}

/** The first line; `end` is the offset after its newline. */
async function readHead(file: FileHandle, size: number): Promise<{ text: string; end: number }> {
  const bytes = await readUpTo(file, 0, Math.min(size, END_LINE_BYTES_MAX))
  const end = bytes.indexOf(NEWLINE)
  return end < 0 ? { text: '', end: 0 } : { text: bytes.subarray(0, end).toString('utf8'), end: end + 1 }
}

/** The last line, found from the end; `start` is its offset. A file may end with a newline or without. */
async function readTail(
  file: FileHandle,
  from: number,
  size: number,
): Promise<{ text: string; start: number }> {
  const at = Math.max(from, size - END_LINE_BYTES_MAX)
  const bytes = await readUpTo(file, at, size - at)
  const end = bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length
  const newline = end === 0 ? -1 : bytes.lastIndexOf(NEWLINE, end - 1)
  if (newline < 0 && at > from) return { text: '', start: size }
  return { text: bytes.subarray(newline + 1, end).toString('utf8'), start: at + newline + 1 }
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

const WITHHELD =
  'this export was made without documents (the API key may not read them): whether they are intact was not checked'

type Head = { readonly ledger: string; readonly keys: KeyHint[]; readonly documents: DocumentsShown }

/** Throws unless it is the first line of an export; its content stays a hint. */
function parseHead(text: string, name: string): Head {
  const head = parseObject(text)
  if (head?.['export'] !== 1) {
    throw new SourceError('not_a_ledger', `${name} is not an export: its first line is not {"export":1,…}`)
  }
  const ledger = head['ledger'] as { id?: unknown } | null | undefined
  const keys = head['keys']
  if (typeof ledger?.id !== 'string' || !Array.isArray(keys)) {
    throw new SourceError(
      'not_a_ledger',
      `${name} is not a complete export: its first line lacks the ledger's id or keys`,
    )
  }
  const documents = head['documents'] === 'withheld' ? 'withheld' : 'all'
  return { ledger: ledger.id, keys: keys.filter(isKeyHint).map(withCompromise), documents }
}

function isKeyHint(key: unknown): key is KeyHint {
  const hint = key as Partial<Record<keyof KeyHint, unknown>> | null
  return typeof hint?.kid === 'string' && typeof hint.alg === 'string' && typeof hint.spki === 'string'
}

function withCompromise(key: KeyHint): KeyHint {
  return { ...key, compromisedAt: typeof key.compromisedAt === 'string' ? key.compromisedAt : null }
}

/**
 * The checkpoint of the last line; null where the ledger had none yet. A cut-off download has no such line:
 * that is said here, because the entries before the cut would verify.
 */
function parseTail(text: string, name: string): string | null {
  const tail = parseObject(text)
  const note = tail?.['checkpoint']
  if (tail && Object.keys(tail).length === 1 && (note === null || typeof note === 'string')) return note
  throw new ProofError(
    'export_incomplete',
    `${name} is cut off: its last line is not {"checkpoint":…}; export it again`,
  )
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** Whole lines between two offsets, about CHUNK_BYTES at a time. */
async function* readChunks(
  file: FileHandle,
  from: number,
  to: number,
  checkpoints: readonly string[],
): AsyncGenerator<EntryChunk> {
  if (from === to) return
  const stream = createReadStream('', {
    fd: file,
    start: from,
    end: to - 1,
    highWaterMark: CHUNK_BYTES,
    autoClose: false,
  })
  let rest: Buffer[] = []
  let restBytes = 0
  let progress = 0
  let notes = checkpoints
  for await (const bytes of stream as AsyncIterable<Buffer>) {
    const cut = bytes.lastIndexOf(NEWLINE) + 1
    if (cut > 0) {
      // In a buffer of its own, because it is handed over to a worker thread.
      const lines = concat([...rest, bytes.subarray(0, cut)])
      progress += lines.length
      yield { lines, checkpoints: notes, columns: null, progress }
      notes = []
      rest = []
      restBytes = 0
    }
    rest.push(bytes.subarray(cut))
    restBytes += bytes.length - cut
    if (restBytes > LINE_BYTES_MAX) {
      throw new SourceError(
        'not_a_ledger',
        `a line is longer than ${LINE_BYTES_MAX} bytes: no export of a ledger has such a line`,
      )
    }
  }
}
