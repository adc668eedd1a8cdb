import { isLonger, toHex } from '../bytes.ts'
import { HASH_BYTES, type SignatureAlgorithm } from '../crypto.ts'
import { decodeCbor } from '../envelope/cbor.ts'
import { encodeEnvelope } from '../envelope/cose.ts'
import {
  ALG,
  CLAIM_ISSUER,
  CLAIM_SUBJECT,
  CLAIMS,
  CONTENT,
  CRIT,
  ISSUED_AT,
  KID,
} from '../envelope/cose-labels.ts'
import { CONTENT_TYPE } from '../envelope/envelope-layout.ts'
import { shown } from '../envelope/shown.ts'
import { attachedPayload, type CoseMap, hasExactly, parseSign1, type Sign1 } from '../envelope/sign1.ts'
import { ProofError } from '../error.ts'
import { ENVELOPE_BYTES_MAX, KID_BYTES_MAX, LOCATION_BYTES_MAX, TEXT_BYTES_MAX } from '../limits.ts'
import { isText } from '../statement/fields.ts'

/* Signed Statements of other issuers (RFC 9943), which a ledger registers (docs/formats/registered-statements.md). */

// RFC 9995 §2
const PAYLOAD_HASH_ALG = 258
const PREIMAGE_CONTENT = 259
const PAYLOAD_LOCATION = 260

/**
 * Maps a COSE algorithm to ours. With the accepted keys, -9 means the same as -7, and -19 the same as -8 (RFC 9864).
 */
const ALGORITHMS: ReadonlyMap<unknown, SignatureAlgorithm> = new Map([
  [-7, 'ES256'],
  [-9, 'ES256'],
  [-8, 'EdDSA'],
  [-19, 'EdDSA'],
])

/** Maps a COSE hash algorithm to the length of its digests in bytes: SHA-256, SHA-384, SHA-512 (RFC 9054). */
const DIGEST_BYTES: ReadonlyMap<unknown, number> = new Map([
  [-16, 32],
  [-43, 48],
  [-44, 64],
])

export type SignedStatement = {
  /**
   * The registered bytes: the statement with an empty unprotected header (RFC 9943 §6.3). The hash of these bytes is
   * the leaf.
   */
  readonly bytes: Uint8Array
  /** The protected header as received, because the issuer's signature covers these bytes. */
  readonly protectedBytes: Uint8Array
  readonly payload: Uint8Array
  readonly signature: Uint8Array
  readonly alg: SignatureAlgorithm
  /** The issuer's own name for its key, 1 to 64 bytes in lower-case hex. */
  readonly kid: string
  readonly issuer: string
  readonly subject: string
  /**
   * Media type of the payload. If the payload is a hash, media type of the hashed content. A CoAP content format is
   * written in decimal digits.
   */
  readonly contentType: string
}

/**
 * Parses a Signed Statement without verifying its signature. The unprotected header may have any content, because it is
 * neither signed nor registered.
 *
 * Throws the first of these codes that applies: `envelope_too_large`, `cbor_malformed`, `cose_structure`. Then for the
 * protected header: `cbor_malformed`, `cose_crit`, `cose_header`, `cose_algorithm`. Then `statement_is_entry`.
 */
export function parseSignedStatement(sent: Uint8Array): SignedStatement {
  const { protectedBytes, unprotected, payload, signature } = readParts(sent)
  const header = readHeader(protectedBytes)
  refuseUnsigned(unprotected, header)
  const described = describe(header, payload)
  const alg = ALGORITHMS.get(header.get(ALG))
  if (alg === undefined) throw new ProofError('cose_algorithm', shown(header.get(ALG)))
  refuseEntry(header)
  // The statement is encoded again, so that its CBOR heads have their shortest form. Otherwise the holder of a
  // statement could compute another leaf than the ledger.
  const bytes = encodeEnvelope(protectedBytes, payload, signature)
  return { ...described, alg, bytes, protectedBytes, payload, signature }
}

/**
 * Parses a statement in the form in which a ledger stores it. The hash of these bytes is the leaf. Throws the same
 * codes as parseSignedStatement, then `cose_unprotected`.
 */
export function parseRegisteredStatement(envelope: Uint8Array): SignedStatement {
  const statement = parseSignedStatement(envelope)
  if (statement.bytes.length === envelope.length) return statement
  throw new ProofError('cose_unprotected', 'a registered statement must have an empty unprotected header')
}

/**
 * Returns the statement that a ledger registers for the received bytes. The statement is parsed as the ledger's
 * verifiers parse it, so the verifiers accept every admitted statement. Throws the same codes as parseSignedStatement.
 */
export function admitStatement(sent: Uint8Array): SignedStatement {
  return parseRegisteredStatement(parseSignedStatement(sent).bytes)
}

function readParts(bytes: Uint8Array): Sign1 & { readonly payload: Uint8Array } {
  if (bytes.length > ENVELOPE_BYTES_MAX)
    throw new ProofError(
      'envelope_too_large',
      `the statement has ${bytes.length} bytes, more than ${ENVELOPE_BYTES_MAX}`,
    )
  const parts = parseSign1(bytes, 'loose')
  return { ...parts, payload: attachedPayload(parts) }
}

function readHeader(protectedBytes: Uint8Array): CoseMap {
  // Zero bytes mean an empty map (RFC 9052 §3).
  const header = protectedBytes.length === 0 ? new Map() : decodeCbor(protectedBytes, 'loose')
  if (!(header instanceof Map)) throw refused('the protected header is not a map')
  if (header.has(CRIT))
    throw new ProofError('cose_crit', 'no header may be critical, but label 2 (crit) is present')
  refuseLabels(header, 'the protected header')
  return header
}

/** Throws if a label is in both headers, or if the unprotected header has `crit` (RFC 9052 §3). */
function refuseUnsigned(unprotected: CoseMap, header: CoseMap): void {
  refuseLabels(unprotected, 'the unprotected header')
  for (const label of unprotected.keys())
    if (header.has(label) || label === CRIT)
      throw refused(`the unprotected header has the label ${shown(label)}`)
}

/** Throws if a label is neither an integer nor text (RFC 9052 §1.5). */
function refuseLabels(map: CoseMap, where: string): void {
  for (const label of map.keys())
    if (!['number', 'bigint', 'string'].includes(typeof label))
      throw refused(`${where} has a label that is neither an integer nor text`)
}

function describe(
  header: CoseMap,
  payload: Uint8Array,
): Pick<SignedStatement, 'kid' | 'issuer' | 'subject' | 'contentType'> {
  const kid = header.get(KID)
  if (!(kid instanceof Uint8Array) || kid.length === 0 || kid.length > KID_BYTES_MAX)
    throw refused(`no kid (label ${KID}) of 1 to ${KID_BYTES_MAX} bytes`)
  const claims = header.get(CLAIMS)
  if (!(claims instanceof Map)) throw refused(`no CWT claims (label ${CLAIMS})`)
  refuseLabels(claims, 'the claims')
  verifyPayload(payload, header)
  return {
    kid: toHex(kid),
    issuer: textOf(claims.get(CLAIM_ISSUER), 'the issuer (claim 1)'),
    subject: textOf(claims.get(CLAIM_SUBJECT), 'the subject (claim 2)'),
    contentType: contentOf(header.get(header.has(PAYLOAD_HASH_ALG) ? PREIMAGE_CONTENT : CONTENT)),
  }
}

/**
 * Verifies that the payload of a COSE Hash Envelope (RFC 9995) has the length of the declared hash algorithm. Any other
 * payload must not have the labels of a hash envelope.
 */
function verifyPayload(payload: Uint8Array, header: CoseMap): void {
  if (!header.has(PAYLOAD_HASH_ALG)) {
    if (header.has(PREIMAGE_CONTENT) || header.has(PAYLOAD_LOCATION))
      throw refused(`labels ${PREIMAGE_CONTENT} and ${PAYLOAD_LOCATION} need label ${PAYLOAD_HASH_ALG}`)
    return
  }
  if (header.has(CONTENT)) throw refused(`label ${CONTENT} is not allowed with ${PAYLOAD_HASH_ALG}`)
  const bytes = DIGEST_BYTES.get(header.get(PAYLOAD_HASH_ALG))
  if (bytes !== payload.length)
    throw refused('the payload is not a hash of its algorithm: SHA-256, SHA-384 or SHA-512')
  if (header.has(PAYLOAD_LOCATION) && !isLocation(header.get(PAYLOAD_LOCATION)))
    throw refused(`label ${PAYLOAD_LOCATION} is not a text of at most ${LOCATION_BYTES_MAX} bytes`)
}

function isLocation(value: unknown): boolean {
  return typeof value === 'string' && !isLonger(value, LOCATION_BYTES_MAX)
}

function textOf(value: unknown, what: string): string {
  // Refuses lone surrogates and U+FFFD, because decoders put one of these in place of bytes that are not UTF-8.
  if (typeof value === 'string' && isText(value) && !/[\p{Cs}\ufffd]/u.test(value)) return value
  throw refused(`${what} is not a text of 1 to ${TEXT_BYTES_MAX} bytes without control characters`)
}

function contentOf(value: unknown): string {
  return Number.isSafeInteger(value) && (value as number) >= 0
    ? String(value)
    : textOf(value, 'the content type')
}

/**
 * Throws if a statement has the form of an entry's envelope: the same labels, claims and content type, and a kid of the
 * same length. Otherwise the issuer could imitate an entry, and a reader that checks only the receipt's signature would
 * trust the imitation. The order of labels and all other values do not matter, because such a reader may use another
 * COSE library.
 */
function refuseEntry(header: CoseMap): void {
  const kid = header.get(KID) as Uint8Array
  const isEntry =
    header.get(CONTENT) === CONTENT_TYPE &&
    kid.length === HASH_BYTES &&
    hasExactly(header, [ALG, CONTENT, KID, CLAIMS]) &&
    hasExactly(header.get(CLAIMS) as CoseMap, [CLAIM_ISSUER, CLAIM_SUBJECT, ISSUED_AT])
  if (!isEntry) return
  throw new ProofError('statement_is_entry', 'it has the form of an entry’s envelope: add a type (label 16)')
}

function refused(detail: string): ProofError {
  return new ProofError('cose_header', detail)
}
