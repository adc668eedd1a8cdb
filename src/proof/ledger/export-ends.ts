import type { DocumentsShown } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import type { JsonValue } from '../json/json-value.ts'
import { isObject } from '../statement/fields.ts'
import type { KeyHint } from './key-hint.ts'

/* First and last line of an export (docs/formats/export.md): `{"export":1,…}` and `{"checkpoint":…}`. */

/** The first line holds the keys, the last a note. */
export const END_LINE_BYTES_MAX = 1024 * 1024
/** A batch's documents have 18 MiB at most: in a body of 4 MiB `1e20`, which is 21 digits in canonical form. */
export const LINE_BYTES_MAX = 32 * 1024 * 1024

export const DOCUMENTS_WITHHELD =
  'this export was made without documents (the API key may not read them): whether they are intact was not checked'

/** `ledger`: the id that the export says it is of. The chain's first entry decides. */
export type ExportHead = {
  readonly ledger: string
  readonly keys: readonly KeyHint[]
  readonly documents: DocumentsShown
}

/** Throws `export_incomplete` unless it is the first line of an export; its content stays a hint. */
export function parseExportHead(text: string): ExportHead {
  const head = parseObject(text)
  if (head?.['export'] !== 1)
    throw new ProofError('export_incomplete', 'not an export: its first line is not {"export":1,…}')
  const { ledger, keys, documents } = head as { ledger?: { id?: unknown } | null } & Record<string, unknown>
  if (typeof ledger?.id !== 'string' || !Array.isArray(keys)) {
    throw new ProofError(
      'export_incomplete',
      "not a complete export: its first line lacks the ledger's id or keys",
    )
  }
  return {
    ledger: ledger.id,
    keys: keys.filter(isKeyHint).map(withCompromise),
    documents: documents === 'withheld' ? 'withheld' : 'all',
  }
}

function isKeyHint(key: unknown): key is KeyHint {
  const hint = key as Partial<Record<keyof KeyHint, unknown>> | null
  return typeof hint?.kid === 'string' && typeof hint.alg === 'string' && typeof hint.spki === 'string'
}

function withCompromise(key: KeyHint): KeyHint {
  return { ...key, compromisedAt: typeof key.compromisedAt === 'string' ? key.compromisedAt : null }
}

/**
 * The checkpoint of the last line; null where the ledger had none yet. A cut-off download has no such line, and throws
 * `export_incomplete`, because the entries before the cut would verify.
 */
export function parseExportTail(text: string): string | null {
  const tail = parseObject(text)
  const note = tail?.['checkpoint']
  if (tail && Object.keys(tail).length === 1 && (note === null || typeof note === 'string')) return note
  throw new ProofError('export_incomplete', 'cut off: its last line is not {"checkpoint":…}; export it again')
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as JsonValue
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
