import { HASH_BYTES, type SignatureAlgorithm } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { ENVELOPE_BYTES_MAX } from '../limits.ts'
import { decodeCbor } from './cbor.ts'
import { ALG, CLAIM_ISSUER, CLAIM_SUBJECT, CLAIMS, CONTENT, CRIT, ISSUED_AT, KID } from './cose-labels.ts'
import { CONTENT_TYPE, type ParsedEnvelope } from './envelope-layout.ts'
import { shown, shownLabels } from './shown.ts'
import { attachedPayload, type CoseMap, hasExactly, parseSign1 } from './sign1.ts'
import { readUsualEnvelope } from './usual-envelope.ts'

/** Maps a COSE algorithm to ours. With an Ed25519 key, -19 means the same as -8 (RFC 9864). */
const ALGORITHMS: ReadonlyMap<unknown, SignatureAlgorithm> = new Map([
  [-7, 'ES256'],
  [-8, 'EdDSA'],
  [-19, 'EdDSA'],
])

/**
 * Parses an envelope. Its statement is not parsed, and its signature is not verified.
 *
 * Throws the first of these codes that applies: `envelope_too_large`, `cbor_malformed`, `cbor_not_deterministic`,
 * `cose_structure`, `cose_unprotected`. Then for the protected header: `cbor_malformed`, `cbor_not_deterministic`,
 * `cose_crit`, `cose_header`, `cose_algorithm`, `cose_content_type`.
 */
export function parseEnvelope(bytes: Uint8Array): ParsedEnvelope {
  if (bytes.length > ENVELOPE_BYTES_MAX)
    throw new ProofError(
      'envelope_too_large',
      `the envelope has ${bytes.length} bytes, more than ${ENVELOPE_BYTES_MAX}`,
    )
  return readUsualEnvelope(bytes) ?? decodeEnvelope(bytes)
}

/** Decodes any envelope within the size limit, also one that readUsualEnvelope cannot read. */
export function decodeEnvelope(bytes: Uint8Array): ParsedEnvelope {
  const parts = parseSign1(bytes, 'deterministic')
  const { protectedBytes, unprotected, signature } = parts
  const payload = attachedPayload(parts)
  if (unprotected.size > 0)
    throw new ProofError(
      'cose_unprotected',
      `the unprotected header must be empty, but has ${unprotected.size} members`,
    )
  return { ...parseHeader(protectedBytes), protectedBytes, payload, signature }
}

type Header = Pick<ParsedEnvelope, 'alg' | 'kid' | 'issuer' | 'subject' | 'issuedAtSeconds'>

function parseHeader(protectedBytes: Uint8Array): Header {
  const header = decodeCbor(protectedBytes, 'deterministic')
  if (!(header instanceof Map)) throw new ProofError('cose_header', 'the protected header is not a map')
  if (header.has(CRIT))
    throw new ProofError('cose_crit', 'no header may be critical, but label 2 (crit) is present')
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
  if (!(claims instanceof Map)) throw new ProofError('cose_header', 'the claims are not a map')
  refuseLabels(claims, [CLAIM_ISSUER, CLAIM_SUBJECT, ISSUED_AT], 'the claims')
  const issuer: unknown = claims.get(CLAIM_ISSUER)
  const subject: unknown = claims.get(CLAIM_SUBJECT)
  const issuedAtSeconds: unknown = claims.get(ISSUED_AT)
  if (typeof issuer !== 'string' || typeof subject !== 'string') {
    throw new ProofError('cose_header', 'the issuer or the subject of the claims is not a text')
  }
  if (!Number.isSafeInteger(issuedAtSeconds) || (issuedAtSeconds as number) < 0) {
    throw new ProofError('cose_header', 'issued-at of the claims is not a number of seconds')
  }
  return { issuer, subject, issuedAtSeconds: issuedAtSeconds as number }
}

/** Throws `cose_header` if the map lacks one of these labels or has any other label. */
function refuseLabels(map: CoseMap, labels: readonly number[], what: string): void {
  if (hasExactly(map, labels)) return
  throw new ProofError('cose_header', `${what} has the labels ${shownLabels(map)}, not ${labels.join(', ')}`)
}
