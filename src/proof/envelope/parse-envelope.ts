import { decode, encode, rfc8949EncodeOptions, Tagged } from 'cborg'
import { equalBytes } from '../bytes.ts'
import { HASH_BYTES, SIGNATURE_BYTES, type SignatureAlgorithm } from '../crypto.ts'
import { ProofError } from '../error.ts'
import {
  ALG,
  CLAIM_ISSUER,
  CLAIM_SUBJECT,
  CLAIMS,
  CONTENT,
  COSE_SIGN1_TAG,
  CRIT,
  KID,
} from './cose-labels.ts'
import { CONTENT_TYPE, ENVELOPE_BYTES_MAX, type ParsedEnvelope } from './envelope-layout.ts'
import { shown } from './shown.ts'
import { readUsualEnvelope } from './usual-envelope.ts'

const LABELS_SHOWN_MAX = 8

/** Claim of RFC 8392 §4. */
export const ISSUED_AT = 6

/** -19 is RFC 9864's name for what -8 has always meant with an Ed25519 key. */
const ALGORITHMS: ReadonlyMap<unknown, SignatureAlgorithm> = new Map([
  [-7, 'ES256'],
  [-8, 'EdDSA'],
  [-19, 'EdDSA'],
])

/**
 * Everything about an envelope but its signature and its statement. Throws, in this order of precedence:
 * `envelope_too_large`, `cbor_malformed`, `cbor_not_deterministic`, `cose_structure`, `cose_unprotected`; and of
 * the protected header the last two before these again, then `cose_crit`, `cose_header`, `cose_algorithm`,
 * `cose_content_type`.
 */
export function parseEnvelope(bytes: Uint8Array): ParsedEnvelope {
  if (bytes.length > ENVELOPE_BYTES_MAX) throw new ProofError('envelope_too_large', `${bytes.length} bytes`)
  return readUsualEnvelope(bytes) ?? decodeEnvelope(bytes)
}

/** Decodes any envelope that is not too large. */
export function decodeEnvelope(bytes: Uint8Array): ParsedEnvelope {
  const [protectedBytes, unprotected, payload, signature] = parseSign1(decodeDeterministic(bytes))
  if (unprotected.size > 0) throw new ProofError('cose_unprotected', `${unprotected.size} members`)
  return { ...parseHeader(protectedBytes), protectedBytes, payload, signature }
}

/**
 * Decoding is lenient and is then compared with the one deterministic encoding (RFC 8949 §4.2.1) of what was
 * found: long forms, unsorted or doubled map keys, indefinite lengths and bad UTF-8 all come out differently.
 */
export function decodeDeterministic(bytes: Uint8Array): unknown {
  let value: unknown
  let again: Uint8Array
  try {
    value = decode(bytes, { useMaps: true, tags: Tagged.preserve(COSE_SIGN1_TAG) })
    again = encode(value, rfc8949EncodeOptions)
  } catch (error) {
    throw new ProofError('cbor_malformed', (error as Error).message) // or nested until the stack ends
  }
  if (!equalBytes(again, bytes)) {
    throw new ProofError('cbor_not_deterministic', 'there is a shorter or sorted form of the same')
  }
  return value
}

type Sign1 = [Uint8Array, Map<unknown, unknown>, Uint8Array, Uint8Array]

function parseSign1(value: unknown): Sign1 {
  if (!(value instanceof Tagged)) throw new ProofError('cose_structure', `no tag ${COSE_SIGN1_TAG}`)
  const parts: unknown = value.value
  if (!Array.isArray(parts) || parts.length !== 4)
    throw new ProofError('cose_structure', 'not an array of four')
  const [protectedBytes, unprotected, payload, signature] = parts as unknown[]
  const ok =
    protectedBytes instanceof Uint8Array &&
    unprotected instanceof Map &&
    payload instanceof Uint8Array && // null: a detached payload
    signature instanceof Uint8Array &&
    signature.length === SIGNATURE_BYTES
  if (!ok) throw new ProofError('cose_structure', 'a part of the wrong type or length')
  return parts as Sign1
}

type Header = Pick<ParsedEnvelope, 'alg' | 'kid' | 'issuer' | 'subject' | 'issuedAtSeconds'>

function parseHeader(protectedBytes: Uint8Array): Header {
  const header = decodeDeterministic(protectedBytes)
  if (!(header instanceof Map)) throw new ProofError('cose_header', 'the protected header is no map')
  if (header.has(CRIT)) throw new ProofError('cose_crit', 'nothing is taken as critical')
  refuseLabels(header, [ALG, CONTENT, KID, CLAIMS], 'the protected header')
  const alg = ALGORITHMS.get(header.get(ALG))
  if (!alg) throw new ProofError('cose_algorithm', shown(header.get(ALG)))
  if (header.get(CONTENT) !== CONTENT_TYPE)
    throw new ProofError('cose_content_type', shown(header.get(CONTENT)))
  const kid: unknown = header.get(KID)
  if (!(kid instanceof Uint8Array) || kid.length !== HASH_BYTES) throw new ProofError('cose_header', 'kid')
  return { alg, kid, ...parseClaims(header.get(CLAIMS)) }
}

function parseClaims(claims: unknown): Pick<ParsedEnvelope, 'issuer' | 'subject' | 'issuedAtSeconds'> {
  if (!(claims instanceof Map)) throw new ProofError('cose_header', 'the claims are no map')
  refuseLabels(claims, [CLAIM_ISSUER, CLAIM_SUBJECT, ISSUED_AT], 'the claims')
  const issuer: unknown = claims.get(CLAIM_ISSUER)
  const subject: unknown = claims.get(CLAIM_SUBJECT)
  const issuedAtSeconds: unknown = claims.get(ISSUED_AT)
  if (typeof issuer !== 'string' || typeof subject !== 'string') {
    throw new ProofError('cose_header', 'issuer or subject is no text')
  }
  if (!Number.isSafeInteger(issuedAtSeconds) || (issuedAtSeconds as number) < 0) {
    throw new ProofError('cose_header', 'issued-at is no count of seconds')
  }
  return { issuer, subject, issuedAtSeconds: issuedAtSeconds as number }
}

/** Throws unless the map has exactly these labels. */
function refuseLabels(map: Map<unknown, unknown>, labels: readonly number[], what: string): void {
  if (map.size === labels.length && labels.every((label) => map.has(label))) return
  const found = [...map.keys()].slice(0, LABELS_SHOWN_MAX).map(shown)
  throw new ProofError('cose_header', `${what} has the labels ${found.join(', ')}`)
}
