import { fromBase64, fromHex, isLonger } from '../bytes.ts'
import type { SignedLine } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonObject, JsonValue } from '../json/json-value.ts'
import { type KeyHint, parseKeyHint } from '../ledger/key-hint.ts'
import {
  CONSISTENCY_PATH_MAX,
  INCLUSION_PATH_MAX,
  PROOF_BYTES_MAX,
  PROOF_DEPTH_MAX,
  PROOF_KEYS_MAX,
} from '../limits.ts'
import type { Fields } from '../statement/check-schemas.ts'
import {
  idOf,
  integer,
  isHash,
  isObject,
  isString,
  isTime,
  listOf,
  objectOf,
  oneOf,
  orNull,
  refuseFields,
} from '../statement/fields.ts'

/*
 * Proof as a file (docs/formats/proofs.md). A proof is a server's evidence of one entry, for a reader who has nothing
 * else. An attacker controls the whole file. Unknown members are refused: no check reads them, so somebody could change
 * them unnoticed.
 */

export type EntryProof = {
  readonly ledger: {
    readonly id: string
    readonly name: string
    readonly issuer: string
    readonly origin: string
    readonly noteVerifierKey: string
  }
  /** Keys that are only hints and need no trust: a kid must be the thumbprint of its key. */
  readonly keys: readonly KeyHint[]
  readonly entry: SignedLine & { readonly seq: number; readonly chain: string }
  readonly index: number
  readonly treeSize: number
  readonly path: readonly Uint8Array[]
  readonly checkpoint: string
  readonly item: ItemProof | null
  /** Envelope of the entry that registers the signing agent's key. null if the server signed. */
  readonly registration: Uint8Array | null
}

/** A record's position in its batch. The parser does not check the member `item`. */
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

const isIndex = integer(0, Number.MAX_SAFE_INTEGER)
const isSize = integer(1, Number.MAX_SAFE_INTEGER)
export const isPath = listOf(isHash, INCLUSION_PATH_MAX)

const isLedger = objectOf({
  id: idOf('led'),
  name: isString,
  issuer: isString,
  origin: isString,
  noteVerifierKey: isString,
})

const isKey = objectOf(
  {
    kid: isHash,
    use: oneOf('envelope'),
    alg: oneOf('EdDSA', 'ES256'),
    spki: isString,
    activatedAt: isTime,
  },
  orNull({ retiredAt: isTime, compromisedAt: isTime }),
)

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
    keys: listOf(isKey, PROOF_KEYS_MAX),
    entry: isEntry,
    index: isIndex,
    treeSize: isSize,
    path: isPath,
    checkpoint: isString,
  },
  optional: orNull({ item: isItemProof, registration: isString }),
}

const CONSISTENCY_FIELDS: Fields = {
  required: { from: isIndex, to: isIndex, path: listOf(isHash, CONSISTENCY_PATH_MAX) },
  optional: {},
}

/** Parses a proof. Throws `proof_syntax`, or a code of the JSON text check or of the encodings. */
export function parseEntryProof(text: string): EntryProof {
  const proof = parseMembers(text, PROOF_FIELDS)
  const entry = proof['entry'] as Record<string, string>
  const { item = null, registration = null } = proof
  return {
    ...(proof as unknown as EntryProof),
    keys: (proof['keys'] as unknown as readonly KeyHint[]).map(parseKeyHint),
    entry: { ...(entry as unknown as EntryProof['entry']), envelope: fromBase64(entry['envelope']!) },
    path: hashesOf(proof['path']),
    registration: registration === null ? null : fromBase64(registration as string),
    item: item === null ? null : parseItemProof(item),
  }
}

/** Parses an item's proof. `item`: a value that isItemProof accepted. */
export function parseItemProof(item: unknown): ItemProof {
  return { ...(item as ItemProof), path: hashesOf((item as ItemProof).path) }
}

/** Parses a consistency proof. Throws the same codes as parseEntryProof. */
export function parseConsistencyProof(text: string): ConsistencyProof {
  const proof = parseMembers(text, CONSISTENCY_FIELDS)
  return { ...(proof as unknown as ConsistencyProof), path: hashesOf(proof['path']) }
}

function parseMembers(text: string, fields: Fields): JsonObject {
  if (isLonger(text, PROOF_BYTES_MAX))
    throw new ProofError('proof_syntax', `a proof can have at most ${PROOF_BYTES_MAX} bytes`)
  const value = parseJsonText(text, { depthMax: PROOF_DEPTH_MAX })
  refuseFields(value, fields, 'proof_syntax')
  return value
}

/** Decodes the hashes of a path. `path`: a value that isPath accepted. */
export function hashesOf(path: unknown): Uint8Array[] {
  return (path as string[]).map(fromHex)
}
