import { fromBase64, fromHex } from '../bytes.ts'
import type { SignedLine } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonObject, JsonValue } from '../json/json-value.ts'
import type { Check, Fields } from '../statement/check-schemas.ts'
import {
  idOf,
  integer,
  isHash,
  isObject,
  isString,
  isTime,
  listOf,
  nullOr,
  objectOf,
  oneOf,
  refuseFields,
} from '../statement/fields.ts'
import { NOTE_CHARS_MAX } from '../tree/note.ts'

/*
 * Proofs as files (docs/formats/proofs.md): a server's evidence of one entry, for a reader who has nothing else. All of
 * it is under an attacker's control. Every member must be there and no other, because what nobody looks at could be
 * changed.
 */

export type EntryProof = {
  readonly ledger: {
    readonly id: string
    readonly name: string
    readonly issuer: string
    readonly origin: string
    readonly noteVerifierKey: string
  }
  /** Hints: a kid is the thumbprint of its key. */
  readonly keys: readonly ProofKey[]
  readonly entry: SignedLine & { readonly seq: number; readonly chain: string }
  readonly index: number
  readonly treeSize: number
  readonly path: readonly Uint8Array[]
  /** A signed note. */
  readonly checkpoint: string
  readonly item: ItemProof | null
  /** Envelope of the entry that registers the key of the agent that signed this one; null: the server signed. */
  readonly registration: Uint8Array | null
}

type ProofKey = {
  readonly kid: string
  readonly alg: 'EdDSA' | 'ES256'
  readonly spki: string
  readonly compromisedAt: string | null
}

/** A record's place in its batch. `item` is not checked here. */
export type ItemProof = {
  readonly item: JsonValue
  readonly index: number
  readonly count: number
  readonly path: readonly Uint8Array[]
}

export type ConsistencyProof = {
  readonly from: number
  readonly to: number
  readonly path: readonly Uint8Array[]
}

/** Two envelopes in base64 have 87,384 characters, a note 16,384, the two paths 4,300; and room to be read. */
export const PROOF_CHARS_MAX = 131_072
/** A tree of 2^53 leaves has 53 levels; a consistency proof one hash more. */
export const PATH_HASHES_MAX = 54
const KEYS_MAX = 16
/** keys[…] and item.item: three objects and arrays lie in each other; nothing else may. */
const DEPTH_MAX = 4

const isIndex = integer(0, Number.MAX_SAFE_INTEGER)
const isSize = integer(1, Number.MAX_SAFE_INTEGER)
export const isPath = listOf(isHash, PATH_HASHES_MAX)
export const isNote: Check = (value) => typeof value === 'string' && value.length <= NOTE_CHARS_MAX

const isLedger = objectOf({
  id: idOf('led'),
  name: isString,
  issuer: isString,
  origin: isString,
  noteVerifierKey: isString,
})

const isKey = objectOf({
  kid: isHash,
  use: oneOf('envelope'),
  alg: oneOf('EdDSA', 'ES256'),
  spki: isString,
  activatedAt: isTime,
  retiredAt: nullOr(isTime),
  compromisedAt: nullOr(isTime),
})

const isEntry = objectOf({
  seq: isIndex,
  kind: isString,
  recordedAt: isTime,
  leaf: isHash,
  chain: isHash,
  envelope: isString,
})

export const isItemProof = objectOf({ item: isObject, index: isIndex, count: isSize, path: isPath })

const PROOF_FIELDS: Fields = {
  required: {
    ledger: isLedger,
    keys: listOf(isKey, KEYS_MAX),
    entry: isEntry,
    index: isIndex,
    treeSize: isSize,
    path: isPath,
    checkpoint: isNote,
  },
  optional: { item: isItemProof, registration: isString },
}

const CONSISTENCY_FIELDS: Fields = { required: { from: isSize, to: isSize, path: isPath }, optional: {} }

/** Throws `proof_syntax`, or a code of the JSON text check or of the encodings. */
export function parseEntryProof(text: string): EntryProof {
  const proof = parseMembers(text, PROOF_FIELDS)
  const entry = proof['entry'] as Record<string, string>
  const item = (proof['item'] ?? null) as ItemProof | null
  return {
    ...(proof as unknown as EntryProof),
    entry: { ...(entry as unknown as EntryProof['entry']), envelope: fromBase64(entry['envelope']!) },
    path: hashesOf(proof['path']),
    registration: proof['registration'] === undefined ? null : fromBase64(proof['registration'] as string),
    item: item && parseItemProof(item),
  }
}

/** `item`: a value that isItemProof has taken. */
export function parseItemProof(item: unknown): ItemProof {
  return { ...(item as ItemProof), path: hashesOf((item as ItemProof).path) }
}

/** Throws as parseEntryProof does. */
export function parseConsistencyProof(text: string): ConsistencyProof {
  const proof = parseMembers(text, CONSISTENCY_FIELDS)
  return { ...(proof as unknown as ConsistencyProof), path: hashesOf(proof['path']) }
}

function parseMembers(text: string, fields: Fields): JsonObject {
  if (text.length > PROOF_CHARS_MAX) {
    throw new ProofError(
      'proof_syntax',
      `${text.length} characters; no proof has more than ${PROOF_CHARS_MAX}`,
    )
  }
  const value = parseJsonText(text, { depthMax: DEPTH_MAX })
  refuseFields(value, fields, 'proof_syntax')
  return value
}

/** `path`: a value that isPath has taken. */
export function hashesOf(path: unknown): Uint8Array[] {
  return (path as string[]).map(fromHex)
}
