import { Tagged } from 'cborg'
import { toHex } from '../bytes.ts'
import { HASH_BYTES, SIGNATURE_BYTES, type SignatureAlgorithm } from '../crypto.ts'
import { encodeEnvelope } from '../envelope/cose.ts'
import {
  ALG,
  CLAIM_ISSUER,
  CLAIM_SUBJECT,
  CLAIMS,
  CONTENT,
  COSE_SIGN1_TAG,
  CRIT,
  KID,
} from '../envelope/cose-labels.ts'
import { CONTENT_TYPE, ENVELOPE_BYTES_MAX } from '../envelope/envelope-layout.ts'
import { ISSUED_AT } from '../envelope/parse-envelope.ts'
import { shown } from '../envelope/shown.ts'
import { ProofError } from '../error.ts'
import { isText } from '../statement/fields.ts'
import { decodeBounded } from './bounded-cbor.ts'

/* Signed Statements of others (RFC 9943), which a ledger registers: docs/formats/registered-statements.md. */

// RFC 9995 §2
const PAYLOAD_HASH_ALG = 258
const PREIMAGE_CONTENT = 259
const PAYLOAD_LOCATION = 260

/** Those of RFC 9864 (-9, -19) name what -7 and -8 mean with such keys. */
const ALGORITHMS: ReadonlyMap<unknown, SignatureAlgorithm> = new Map([
  [-7, 'ES256'],
  [-9, 'ES256'],
  [-8, 'EdDSA'],
  [-19, 'EdDSA'],
])

/** Bytes of a digest by its COSE algorithm: SHA-256, SHA-384, SHA-512 (RFC 9054). */
const DIGEST_BYTES: ReadonlyMap<unknown, number> = new Map([
  [-16, 32],
  [-43, 48],
  [-44, 64],
])

const KID_BYTES_MAX = 64
const LOCATION_CHARS_MAX = 1_024

export type SignedStatement = {
  /** As it is registered: the statement with an empty unprotected header (RFC 9943 §6.3). Its hash is the leaf. */
  readonly bytes: Uint8Array
  /** As received; the signed bytes contain them. */
  readonly protectedBytes: Uint8Array
  readonly payload: Uint8Array
  readonly signature: Uint8Array
  readonly alg: SignatureAlgorithm
  /** Lower-case hex, 1 to 64 bytes: the issuer's own name for its key. */
  readonly kid: string
  readonly issuer: string
  readonly subject: string
  /** Media type of the payload, or of what it is the hash of; a CoAP content format in decimal digits. */
  readonly contentType: string
}

/**
 * Everything about a Signed Statement but its signature. Throws, in this order of precedence: `envelope_too_large`, `cbor_malformed`,
 * `cose_structure`; of the protected header `cbor_malformed`, `cose_crit`, `cose_header`, `cose_algorithm`;
 * then `statement_is_entry`.
 */
export function parseSignedStatement(sent: Uint8Array): SignedStatement {
  if (sent.length > ENVELOPE_BYTES_MAX) throw new ProofError('envelope_too_large', `${sent.length} bytes`)
  const [protectedBytes, unprotected, payload, signature] = parseSign1(sent)
  // With heads in their shortest form only, it is the bytes that were sent where nothing was in that header: its holder computes the same leaf.
  const bytes = encodeEnvelope(protectedBytes, payload, signature)
  const header = parseHeader(protectedBytes, unprotected)
  verifyPayload(payload, header)
  refuseEntry(header)
  return { ...describe(header), bytes, protectedBytes, payload, signature }
}

type Header = ReadonlyMap<unknown, unknown>
type Sign1 = [Uint8Array, Header, Uint8Array, Uint8Array]

function parseSign1(sent: Uint8Array): Sign1 {
  const value = decodeBounded(sent, Tagged.preserve(COSE_SIGN1_TAG))
  if (!(value instanceof Tagged)) throw structure(`no tag ${COSE_SIGN1_TAG}`)
  const parts: unknown = value.value
  if (!Array.isArray(parts) || parts.length !== 4) throw structure('not an array of four')
  const [protectedBytes, unprotected, payload, signature] = parts as unknown[]
  if (payload === null)
    throw structure('the payload is detached: attach it, or sign its hash (RFC 9995), and send that')
  const ok =
    protectedBytes instanceof Uint8Array &&
    unprotected instanceof Map &&
    payload instanceof Uint8Array &&
    signature instanceof Uint8Array &&
    signature.length === SIGNATURE_BYTES
  if (!ok) throw structure('a part of the wrong type or length')
  return parts as Sign1
}

function parseHeader(protectedBytes: Uint8Array, unprotected: Header): Header {
  const header = decodeBounded(protectedBytes)
  if (!(header instanceof Map)) throw refused('the protected header is no map')
  if (header.has(CRIT)) throw new ProofError('cose_crit', 'nothing is taken as critical')
  const twice = [...unprotected.keys()].find((label) => header.has(label) || label === CRIT)
  // RFC 9052 §3: a label is in one of the two
  if (twice !== undefined) throw refused(`the unprotected header has the label ${shown(twice)}`)
  if (!ALGORITHMS.has(header.get(ALG))) throw new ProofError('cose_algorithm', shown(header.get(ALG)))
  return header
}

function describe(
  header: Header,
): Pick<SignedStatement, 'alg' | 'kid' | 'issuer' | 'subject' | 'contentType'> {
  const kid = header.get(KID)
  if (!(kid instanceof Uint8Array) || kid.length === 0 || kid.length > KID_BYTES_MAX)
    throw refused(`no kid (label ${KID}) of 1 to ${KID_BYTES_MAX} bytes`)
  const claims = header.get(CLAIMS)
  if (!(claims instanceof Map)) throw refused(`no CWT claims (label ${CLAIMS})`)
  return {
    alg: ALGORITHMS.get(header.get(ALG))!,
    kid: toHex(kid),
    issuer: textOf(claims.get(CLAIM_ISSUER), 'the issuer (claim 1)'),
    subject: textOf(claims.get(CLAIM_SUBJECT), 'the subject (claim 2)'),
    contentType: contentOf(header.get(header.has(PAYLOAD_HASH_ALG) ? PREIMAGE_CONTENT : CONTENT)),
  }
}

/** Throws unless the payload of a COSE Hash Envelope (RFC 9995) is such a hash, and says so in one way. */
function verifyPayload(payload: Uint8Array, header: Header): void {
  const location = header.get(PAYLOAD_LOCATION)
  if (!header.has(PAYLOAD_HASH_ALG)) {
    if (header.has(PREIMAGE_CONTENT) || location !== undefined)
      throw refused(`labels ${PREIMAGE_CONTENT} and ${PAYLOAD_LOCATION} without ${PAYLOAD_HASH_ALG}`)
    return
  }
  if (header.has(CONTENT)) throw refused(`label ${CONTENT} beside ${PAYLOAD_HASH_ALG}`)
  const bytes = DIGEST_BYTES.get(header.get(PAYLOAD_HASH_ALG))
  if (bytes !== payload.length) throw refused('the payload is no SHA-256, SHA-384 or SHA-512 hash as it says')
  if (location !== undefined && !(typeof location === 'string' && location.length <= LOCATION_CHARS_MAX))
    throw refused(`label ${PAYLOAD_LOCATION} is no text of at most ${LOCATION_CHARS_MAX} characters`)
}

function textOf(value: unknown, what: string): string {
  // The last two are what a decoder makes of bytes that are no UTF-8.
  if (typeof value === 'string' && isText(value) && !/[\p{Cs}\ufffd]/u.test(value)) return value
  throw refused(`${what} is no text of 1 to 256 characters without control characters`)
}

function contentOf(value: unknown): string {
  return Number.isSafeInteger(value) && (value as number) >= 0
    ? String(value)
    : textOf(value, 'the content type')
}

/**
 * Refuses what has the form of an entry's envelope. Its issuer could otherwise say in it what a ledger says of its records, and who has a
 * receipt, and looks at no signature but the receipt's, would take it for an entry: also in another order of members, in which we would not
 * write one, and others may read it.
 */
function refuseEntry(header: Header): void {
  const kid = header.get(KID)
  const claims = header.get(CLAIMS)
  const isEntry =
    header.get(CONTENT) === CONTENT_TYPE &&
    kid instanceof Uint8Array &&
    kid.length === HASH_BYTES &&
    hasJust(header, [ALG, CONTENT, KID, CLAIMS]) &&
    hasJust(claims, [CLAIM_ISSUER, CLAIM_SUBJECT, ISSUED_AT])
  if (!isEntry) return
  throw new ProofError('statement_is_entry', 'it has the form of an entry’s envelope: add a type (label 16)')
}

function hasJust(map: unknown, labels: readonly number[]): boolean {
  return map instanceof Map && map.size === labels.length && labels.every((label) => map.has(label))
}

function structure(detail: string): ProofError {
  return new ProofError('cose_structure', detail)
}

function refused(detail: string): ProofError {
  return new ProofError('cose_header', detail)
}
