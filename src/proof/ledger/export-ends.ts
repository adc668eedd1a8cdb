import { startsWith, utf8Decode } from '../bytes.ts'
import type { DocumentsShown } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonObject } from '../json/json-value.ts'
import { END_LINE_BYTES_MAX, LINE_DEPTH_MAX } from '../limits.ts'
import { isObject } from '../statement/fields.ts'
import { isKeyHint, type KeyHint, parseKeyHint } from './key-hint.ts'

/*
 * Parsers of the first and the last line of an export (docs/formats/export.md): `{"export":1,…}` and
 * `{"checkpoint":…}`.
 */

export const DOCUMENTS_WITHHELD =
  'this export has no documents, because the API key may not read them: they were not checked'

/** First line of an export. `ledger`: the id that the export claims. The real id is in the chain's first entry. */
export type ExportHead = {
  readonly ledger: string
  readonly keys: readonly KeyHint[]
  readonly documents: DocumentsShown
}

/**
 * Start of an export's first line. If a file starts like this but is not strict JSON, it is reported as a damaged
 * export, not as another kind of file.
 */
const START = '{"export"'

/**
 * Parses the first line of an export. Returns null if the file is not an export. Throws a code of the JSON text check
 * or of UTF-8 for a damaged line, and `line_syntax` for a malformed key. The content of the line is only a hint.
 * Unknown members are ignored.
 */
export function parseExportHead(bytes: Uint8Array): ExportHead | null {
  const head = bytes.length > END_LINE_BYTES_MAX ? null : parseHead(bytes)
  const { export: version, ledger = null, keys, documents } = head ?? {}
  if (version !== 1 || !isObject(ledger) || typeof ledger['id'] !== 'string' || !Array.isArray(keys))
    return null
  if (!keys.every(isKeyHint))
    throw new ProofError('line_syntax', 'a key in the first line does not have the required form')
  return {
    ledger: ledger['id'],
    keys: (keys as unknown as readonly KeyHint[]).map(parseKeyHint),
    documents: documents === 'withheld' ? 'withheld' : 'all',
  }
}

/** Message for a file that is not an export (parseExportHead returned null). */
export const NO_EXPORT =
  'not an export: its first line is not {"export":1,…} with the id of a ledger and its keys'

function parseHead(bytes: Uint8Array): JsonObject | null {
  try {
    return readObject(bytes)
  } catch (error) {
    if (startsWith(bytes, START)) throw error
    return null
  }
}

/**
 * Returns the checkpoint of the last line, or null if the ledger had no checkpoint yet. Throws `export_incomplete` if
 * the last line is of another kind. Then the download was cut off, possibly within a character. Without this check, the
 * entries before the cut would verify.
 */
export function parseExportTail(bytes: Uint8Array): string | null {
  const tail = bytes.length > END_LINE_BYTES_MAX ? null : parseTail(bytes)
  const note = tail?.['checkpoint']
  if (tail && Object.keys(tail).length === 1 && (note === null || typeof note === 'string')) return note
  throw new ProofError(
    'export_incomplete',
    'the export was cut off, because its last line is not {"checkpoint":…}: export the ledger again',
  )
}

function parseTail(bytes: Uint8Array): JsonObject | null {
  try {
    return readObject(bytes)
  } catch {
    return null
  }
}

/** Parses a line. Returns null if the line is not an object. Throws `bad_utf8`, or a code of the JSON text check. */
function readObject(bytes: Uint8Array): JsonObject | null {
  const value = parseJsonText(utf8Decode(bytes), { depthMax: LINE_DEPTH_MAX })
  return isObject(value) ? value : null
}
