import { encode, rfc8949EncodeOptions, Tagged } from 'cborg'
import { HASH_BYTES, SIGNATURE_BYTES } from '../crypto.ts'
import { encodeEnvelope } from '../envelope/cose.ts'
import {
  ALG,
  CLAIM_ISSUER,
  CLAIM_SUBJECT,
  CLAIMS,
  COSE_SIGN1_TAG,
  CRIT,
  EDDSA,
  KID,
} from '../envelope/cose-labels.ts'
import { ENVELOPE_BYTES_MAX } from '../envelope/envelope-layout.ts'
import { decodeDeterministic } from '../envelope/parse-envelope.ts'
import { shown } from '../envelope/shown.ts'
import { ProofError } from '../error.ts'
import { CONSISTENCY, INCLUSION, ITEM, RECEIPTS, RFC9162_SHA256, SIZE, VDP, VDS } from './labels.ts'

/*
 * COSE Receipts (RFC 9942) as docs/formats/receipts.md has them. One proof each, in deterministic CBOR. Small and rare beside
 * envelopes, so cborg encodes them.
 */

/** Path of RFC 9162 from leaf `index` of `size` up to the root. */
export type LeafPath = { readonly size: number; readonly index: number; readonly path: readonly Uint8Array[] }
/** Path of RFC 9162 that joins the roots of `from` and `to` leaves. */
export type JoiningPath = { readonly from: number; readonly to: number; readonly path: readonly Uint8Array[] }

/** One record of the batch. `item`: the bytes that were hashed. `at`: its place in the batch's own tree. */
export type ReceiptItem = { readonly item: Uint8Array; readonly at: LeafPath }

type Signed = { readonly protectedBytes: Uint8Array; readonly signature: Uint8Array }
export type InclusionReceipt = Signed & { readonly inclusion: LeafPath; readonly item: ReceiptItem | null }
export type ConsistencyReceipt = Signed & { readonly consistency: JoiningPath }

/** Contents of the protected header. `kid`: 32 bytes. */
export type ReceiptHeader = {
  readonly kid: Uint8Array
  readonly issuer: string
  readonly origin: string
  readonly size: number
}

/** Two paths of 53 and 11 hashes, an item of 600 bytes, a header of 2,000; and room. */
export const RECEIPT_BYTES_MAX = 8_192
/** A statement with its receipt. */
export const RECEIPT_FILE_BYTES_MAX = ENVELOPE_BYTES_MAX + RECEIPT_BYTES_MAX
/** A tree of 2^53 leaves has 53 levels; a consistency path one hash more. */
const PATH_HASHES_MAX = 54

export function encodeInclusionReceipt({ inclusion, item, ...signed }: InclusionReceipt): Uint8Array {
  const unprotected = new Map<number, unknown>([[VDP, new Map([[INCLUSION, [encodeLeafPath(inclusion)]]])]])
  if (item !== null) unprotected.set(ITEM, [item.item, encodeLeafPath(item.at)])
  return encodeSign1(signed, unprotected)
}

export function encodeConsistencyReceipt({ consistency, ...signed }: ConsistencyReceipt): Uint8Array {
  const { from, to, path } = consistency
  const proof = encode([from, to, path], rfc8949EncodeOptions)
  return encodeSign1(signed, new Map([[VDP, new Map([[CONSISTENCY, [proof]]])]]))
}

/** The envelope of the entry with its receipt in the unprotected header (RFC 9942 §2): one file that verifies alone. */
export function attachReceipt(envelope: Uint8Array, receipt: Uint8Array): Uint8Array {
  const [protectedBytes, , payload, signature] = parseSign1(envelope)
  const parts = [protectedBytes, new Map([[RECEIPTS, [receipt]]]), payload, signature]
  return encode(new Tagged(COSE_SIGN1_TAG, parts), rfc8949EncodeOptions)
}

/**
 * The envelope as it was before the receipt was attached, and the receipt. Throws `receipt_syntax`, `cbor_malformed`,
 * `cbor_not_deterministic`, `cose_structure`, `envelope_too_large`.
 */
export function detachReceipt(file: Uint8Array): {
  readonly envelope: Uint8Array
  readonly receipt: Uint8Array
} {
  refuseLong(file, RECEIPT_FILE_BYTES_MAX)
  const [protectedBytes, unprotected, payload, signature] = parseSign1(file)
  const receipts = onlyMember(unprotected, RECEIPTS, 'the statement')
  if (payload === null || signature.length !== SIGNATURE_BYTES) throw syntax('no statement of ours')
  // The deterministic encoding of the same parts is the bytes that were signed and hashed.
  return {
    envelope: encodeEnvelope(protectedBytes, payload, signature),
    receipt: onlyBytes(receipts, 'receipts'),
  }
}

/** Throws as detachReceipt does. Nothing is verified. */
export function parseInclusionReceipt(bytes: Uint8Array): InclusionReceipt {
  const { unprotected, ...signed } = parseReceipt(bytes)
  const rest = new Map([...unprotected].filter(([label]) => label !== ITEM))
  return {
    ...signed,
    inclusion: parseLeafPath(proofOf(rest, INCLUSION)),
    // CBOR has a value `undefined`, which is no item either.
    item: unprotected.has(ITEM) ? parseItem(unprotected.get(ITEM)) : null,
  }
}

/** Throws as detachReceipt does. Nothing is verified. */
export function parseConsistencyReceipt(bytes: Uint8Array): ConsistencyReceipt {
  const { unprotected, ...signed } = parseReceipt(bytes)
  const [from, to, path] = parseProof(proofOf(unprotected, CONSISTENCY))
  return { ...signed, consistency: { from, to, path } }
}

/** Throws `cbor_malformed`, `cbor_not_deterministic`, `cose_crit`, `cose_algorithm`, `receipt_syntax`. */
export function parseReceiptHeader(protectedBytes: Uint8Array): ReceiptHeader {
  const header = decodeDeterministic(protectedBytes)
  if (!(header instanceof Map)) throw syntax('the protected header is no map')
  if (header.has(CRIT)) throw new ProofError('cose_crit', 'nothing is taken as critical')
  if (header.get(ALG) !== EDDSA) throw new ProofError('cose_algorithm', shown(header.get(ALG)))
  const [kid, claims, size] = [header.get(KID), header.get(CLAIMS), header.get(SIZE)] as unknown[]
  const [issuer, origin] = claims instanceof Map ? [claims.get(CLAIM_ISSUER), claims.get(CLAIM_SUBJECT)] : []
  const isKnown =
    header.size === 5 &&
    kid instanceof Uint8Array &&
    kid.length === HASH_BYTES &&
    claims instanceof Map &&
    claims.size === 2 &&
    typeof issuer === 'string' &&
    typeof origin === 'string' &&
    header.get(VDS) === RFC9162_SHA256 &&
    isCount(size)
  if (!isKnown) throw syntax('the protected header is not alg, kid, claims, vds and size')
  return { kid, issuer, origin, size }
}

function encodeSign1({ protectedBytes, signature }: Signed, unprotected: Map<number, unknown>): Uint8Array {
  return encode(
    new Tagged(COSE_SIGN1_TAG, [protectedBytes, unprotected, null, signature]),
    rfc8949EncodeOptions,
  )
}

function encodeLeafPath({ size, index, path }: LeafPath): Uint8Array {
  return encode([size, index, path], rfc8949EncodeOptions)
}

type Sign1 = [Uint8Array, Map<unknown, unknown>, Uint8Array | null, Uint8Array]

function parseSign1(bytes: Uint8Array): Sign1 {
  const value = decodeDeterministic(bytes)
  const parts: unknown = value instanceof Tagged ? value.value : null
  if (!Array.isArray(parts) || parts.length !== 4) throw structure('no array of four under tag 18')
  const [protectedBytes, unprotected, payload, signature] = parts as unknown[]
  const ok =
    protectedBytes instanceof Uint8Array &&
    unprotected instanceof Map &&
    (payload === null || payload instanceof Uint8Array) &&
    signature instanceof Uint8Array
  if (!ok) throw structure('a part of the wrong type')
  return parts as Sign1
}

function parseReceipt(bytes: Uint8Array): Signed & { readonly unprotected: Map<unknown, unknown> } {
  refuseLong(bytes, RECEIPT_BYTES_MAX)
  const [protectedBytes, unprotected, payload, signature] = parseSign1(bytes)
  // An attached root could be verified in place of the one that the proof leads to.
  if (payload !== null) throw structure('an attached payload')
  if (signature.length !== SIGNATURE_BYTES) throw structure(`a signature of ${signature.length} bytes`)
  return { protectedBytes, signature, unprotected }
}

/** The one proof of this kind: a byte string in a list in a map. */
function proofOf(unprotected: Map<unknown, unknown>, kind: number): Uint8Array {
  const proofs = onlyMember(unprotected, VDP, 'the unprotected header')
  if (!(proofs instanceof Map)) throw syntax('vdp is no map')
  return onlyBytes(onlyMember(proofs, kind, 'vdp'), 'proofs')
}

function parseLeafPath(bytes: Uint8Array): LeafPath {
  const [size, index, path] = parseProof(bytes)
  return { size, index, path }
}

function parseItem(value: unknown): ReceiptItem {
  const [item, at] = Array.isArray(value) && value.length === 2 ? (value as unknown[]) : []
  if (!(item instanceof Uint8Array && at instanceof Uint8Array))
    throw syntax('the item is not its bytes and its path')
  return { item, at: parseLeafPath(at) }
}

/** Two numbers and a list of hashes. */
function parseProof(bytes: Uint8Array): [number, number, Uint8Array[]] {
  const value = decodeDeterministic(bytes)
  const [first, second, path] = Array.isArray(value) && value.length === 3 ? (value as unknown[]) : []
  const isKnown =
    isCount(first) &&
    isCount(second) &&
    Array.isArray(path) &&
    path.length <= PATH_HASHES_MAX &&
    path.every((hash) => hash instanceof Uint8Array && hash.length === HASH_BYTES)
  if (!isKnown) throw syntax('a proof is not two numbers and hashes')
  return [first, second, path as Uint8Array[]]
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function onlyMember(map: Map<unknown, unknown>, label: number, where: string): unknown {
  if (map.size !== 1 || !map.has(label)) throw syntax(`${where} has the labels ${[...map.keys()].join(', ')}`)
  return map.get(label)
}

function onlyBytes(list: unknown, what: string): Uint8Array {
  const [only] = Array.isArray(list) && list.length === 1 ? (list as unknown[]) : []
  if (!(only instanceof Uint8Array)) throw syntax(`${what} is no list of one byte string`)
  return only
}

function refuseLong(bytes: Uint8Array, bytesMax: number): void {
  if (bytes.length > bytesMax) throw syntax(`${bytes.length} bytes`)
}

function syntax(detail: string): ProofError {
  return new ProofError('receipt_syntax', detail)
}

function structure(detail: string): ProofError {
  return new ProofError('cose_structure', detail)
}
