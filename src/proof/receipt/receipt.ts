import { encode, rfc8949EncodeOptions, Tagged } from 'cborg'
import { HASH_BYTES } from '../crypto.ts'
import { decodeCbor } from '../envelope/cbor.ts'
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
import { shown, shownLabels } from '../envelope/shown.ts'
import { attachedPayload, type CoseMap, hasExactly, parseSign1 } from '../envelope/sign1.ts'
import { ProofError } from '../error.ts'
import {
  CONSISTENCY_PATH_MAX,
  INCLUSION_PATH_MAX,
  RECEIPT_BYTES_MAX,
  RECEIPT_FILE_BYTES_MAX,
} from '../limits.ts'
import { CONSISTENCY, INCLUSION, ITEM, RECEIPTS, RFC9162_SHA256, SIZE, VDP, VDS } from './labels.ts'

/*
 * COSE Receipts (RFC 9942) as docs/formats/receipts.md describes them. Each receipt has one proof, in deterministic
 * CBOR. The library cborg encodes receipts. It is fast enough, because receipts are small and rare.
 */

/** Path of RFC 9162 from leaf `index` of a tree of `size` leaves to its root. */
export type LeafPath = { readonly size: number; readonly index: number; readonly path: readonly Uint8Array[] }
/** Path of RFC 9162 that joins the root of a tree of `from` leaves and the root of a tree of `to` leaves. */
export type JoiningPath = { readonly from: number; readonly to: number; readonly path: readonly Uint8Array[] }

/** One record of a batch. `item`: the bytes that were hashed. `at`: path of the record in the batch's own tree. */
export type ReceiptItem = { readonly item: Uint8Array; readonly at: LeafPath }

type Signed = { readonly protectedBytes: Uint8Array; readonly signature: Uint8Array }
type ParsedSigned = Signed & { readonly header: ReceiptHeader }
type Inclusion = { readonly inclusion: LeafPath; readonly item: ReceiptItem | null }
export type InclusionReceipt = ParsedSigned & Inclusion
export type ConsistencyReceipt = ParsedSigned & { readonly consistency: JoiningPath }

/** Protected header of a receipt. `kid`: 32 bytes. */
export type ReceiptHeader = {
  readonly kid: Uint8Array
  readonly issuer: string
  readonly origin: string
  readonly size: number
}

export function encodeInclusionReceipt({ inclusion, item, ...signed }: Signed & Inclusion): Uint8Array {
  const unprotected = new Map<number, unknown>([[VDP, new Map([[INCLUSION, [encodeLeafPath(inclusion)]]])]])
  if (item !== null) unprotected.set(ITEM, [item.item, encodeLeafPath(item.at)])
  return encodeSign1(signed, unprotected)
}

export function encodeConsistencyReceipt({
  consistency,
  ...signed
}: Signed & { readonly consistency: JoiningPath }): Uint8Array {
  const { from, to, path } = consistency
  const proof = encode([from, to, path], rfc8949EncodeOptions)
  return encodeSign1(signed, new Map([[VDP, new Map([[CONSISTENCY, [proof]]])]]))
}

/**
 * Returns the envelope with its receipt in the unprotected header (RFC 9942 §2). Apart from the keys, a verifier of
 * this file needs no other data.
 */
export function attachReceipt(envelope: Uint8Array, receipt: Uint8Array): Uint8Array {
  const { protectedBytes, payload, signature } = parseSign1(envelope, 'deterministic')
  const parts = [protectedBytes, new Map([[RECEIPTS, [receipt]]]), payload, signature]
  return encode(new Tagged(COSE_SIGN1_TAG, parts), rfc8949EncodeOptions)
}

/**
 * Splits a file that attachReceipt made into envelope and receipt. Throws `receipt_syntax`, `cbor_malformed`,
 * `cbor_not_deterministic`, `cose_structure` or `envelope_too_large`.
 */
export function detachReceipt(file: Uint8Array): {
  readonly envelope: Uint8Array
  readonly receipt: Uint8Array
} {
  refuseLong(file, RECEIPT_FILE_BYTES_MAX)
  const parts = parseSign1(file, 'deterministic')
  const { protectedBytes, unprotected, signature } = parts
  const payload = attachedPayload(parts)
  const receipt = onlyBytes(onlyMember(unprotected, RECEIPTS, 'the statement'), 'receipts')
  // An envelope has only one deterministic encoding. So encoding its parts again gives exactly the bytes that were
  // signed and hashed.
  return { envelope: encodeEnvelope(protectedBytes, payload, signature), receipt }
}

/** Parses an inclusion receipt without verifying it. Throws the same codes as detachReceipt and parseReceiptHeader. */
export function parseInclusionReceipt(bytes: Uint8Array): InclusionReceipt {
  const { unprotected, ...signed } = parseReceipt(bytes)
  const rest = new Map([...unprotected].filter(([label]) => label !== ITEM))
  return {
    ...signed,
    inclusion: parseLeafPath(proofOf(rest, INCLUSION)),
    // Tests with `has`, because a malformed item may be CBOR's `undefined`. Such an item must be refused. It must not
    // count as absent.
    item: unprotected.has(ITEM) ? parseItem(unprotected.get(ITEM)) : null,
  }
}

/** Parses a consistency receipt without verifying it. Throws the same codes as detachReceipt and parseReceiptHeader. */
export function parseConsistencyReceipt(bytes: Uint8Array): ConsistencyReceipt {
  const { unprotected, ...signed } = parseReceipt(bytes)
  const [from, to, path] = parseProof(proofOf(unprotected, CONSISTENCY), CONSISTENCY_PATH_MAX)
  return { ...signed, consistency: { from, to, path } }
}

/**
 * Parses the protected header. Throws the first of these codes that applies: `cbor_malformed`,
 * `cbor_not_deterministic`, `cose_crit`, `receipt_syntax` if the labels are wrong, `cose_algorithm`, `receipt_syntax`
 * if another value is wrong.
 */
export function parseReceiptHeader(protectedBytes: Uint8Array): ReceiptHeader {
  const header = decodeCbor(protectedBytes, 'deterministic')
  if (!(header instanceof Map)) throw syntax('the protected header is not a map')
  if (header.has(CRIT))
    throw new ProofError('cose_crit', 'no header may be critical, but label 2 (crit) is present')
  if (header.size !== HEADER_LABELS.length || !HEADER_LABELS.every((label) => header.has(label)))
    throw syntax('the protected header must have exactly alg, kid, claims, vds and size')
  if (header.get(ALG) !== EDDSA) throw new ProofError('cose_algorithm', shown(header.get(ALG)))
  const [kid, claims, size] = [header.get(KID), header.get(CLAIMS), header.get(SIZE)] as unknown[]
  const [issuer, origin] = claims instanceof Map ? [claims.get(CLAIM_ISSUER), claims.get(CLAIM_SUBJECT)] : []
  const isKnown =
    kid instanceof Uint8Array &&
    kid.length === HASH_BYTES &&
    claims instanceof Map &&
    claims.size === 2 &&
    typeof issuer === 'string' &&
    typeof origin === 'string' &&
    header.get(VDS) === RFC9162_SHA256 &&
    isCount(size)
  if (!isKnown) throw syntax('kid, claims, vds or size does not have the required form')
  return { kid, issuer, origin, size }
}

const HEADER_LABELS = [ALG, KID, CLAIMS, VDS, SIZE]

function encodeSign1({ protectedBytes, signature }: Signed, unprotected: Map<number, unknown>): Uint8Array {
  return encode(
    new Tagged(COSE_SIGN1_TAG, [protectedBytes, unprotected, null, signature]),
    rfc8949EncodeOptions,
  )
}

function encodeLeafPath({ size, index, path }: LeafPath): Uint8Array {
  return encode([size, index, path], rfc8949EncodeOptions)
}

function parseReceipt(bytes: Uint8Array): ParsedSigned & { readonly unprotected: CoseMap } {
  refuseLong(bytes, RECEIPT_BYTES_MAX)
  const { payload, ...parts } = parseSign1(bytes, 'deterministic')
  // If a root were attached, a verifier might check the signature over the attached root. It must check the signature
  // over the root to which the proof leads.
  if (payload !== null) throw structure('the payload must be detached')
  return { ...parts, header: parseReceiptHeader(parts.protectedBytes) }
}

/** Returns the only proof of this kind. It is a byte string in a list in a map. */
function proofOf(unprotected: CoseMap, kind: number): Uint8Array {
  const proofs = onlyMember(unprotected, VDP, 'the unprotected header')
  if (!(proofs instanceof Map)) throw syntax('vdp is not a map')
  return onlyBytes(onlyMember(proofs, kind, 'vdp'), 'proofs')
}

function parseLeafPath(bytes: Uint8Array): LeafPath {
  const [size, index, path] = parseProof(bytes, INCLUSION_PATH_MAX)
  return { size, index, path }
}

function parseItem(value: unknown): ReceiptItem {
  const [item, at] = Array.isArray(value) && value.length === 2 ? (value as unknown[]) : []
  if (!(item instanceof Uint8Array && at instanceof Uint8Array))
    throw syntax('the item must be its bytes and its path')
  return { item, at: parseLeafPath(at) }
}

function parseProof(bytes: Uint8Array, hashesMax: number): [number, number, Uint8Array[]] {
  const value = decodeCbor(bytes, 'deterministic')
  const [first, second, path] = Array.isArray(value) && value.length === 3 ? (value as unknown[]) : []
  const isKnown =
    isCount(first) &&
    isCount(second) &&
    Array.isArray(path) &&
    path.length <= hashesMax &&
    path.every((hash) => hash instanceof Uint8Array && hash.length === HASH_BYTES)
  if (!isKnown) throw syntax('a proof must be two numbers and hashes')
  return [first, second, path as Uint8Array[]]
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function onlyMember(map: CoseMap, label: number, where: string): unknown {
  if (!hasExactly(map, [label])) throw syntax(`${where} has the labels ${shownLabels(map)}`)
  return map.get(label)
}

function onlyBytes(list: unknown, what: string): Uint8Array {
  const [only] = Array.isArray(list) && list.length === 1 ? (list as unknown[]) : []
  if (!(only instanceof Uint8Array)) throw syntax(`${what} is not a list of one byte string`)
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
