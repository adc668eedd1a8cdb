import { utf8Encode } from '../bytes.ts'
import type { SignatureAlgorithm } from '../crypto.ts'

/* Fixed bytes of the envelopes that we write (docs/formats/envelopes.md). */

export const CONTENT_TYPE = 'application/vnd.in-toto+json'

/** Major types of CBOR (RFC 8949 §3.1). */
export const UINT = 0x00
export const BYTES = 0x40
export const TEXT = 0x60

export const TAG_18 = 0xd2
export const ARRAY_OF_4 = 0x84
export const EMPTY_MAP = 0xa0

/**
 * Bytes of the header before the kid. In CBOR notation they are `{1: alg, 3: content type, 4:`. CLAIMS_START has the
 * bytes between the kid and the issuer: `15: {1:`.
 */
export const HEADER_START: Readonly<Record<SignatureAlgorithm, Uint8Array>> = {
  EdDSA: headerStart(0x27), // algorithm -8
  ES256: headerStart(0x26), // algorithm -7
}
export const CLAIMS_START = new Uint8Array([0x0f, 0xa3, 0x01])
export const CLAIM_SUBJECT = 0x02
export const CLAIM_ISSUED_AT = 0x06

/** Returns the header bytes before the kid. `alg`: the algorithm, encoded in one byte. */
export function headerStart(alg: number): Uint8Array {
  const content = utf8Encode(CONTENT_TYPE)
  return new Uint8Array([0xa4, 0x01, alg, 0x03, 0x78, content.length, ...content, 0x04, 0x58, 0x20])
}

export type ParsedEnvelope = {
  /** The protected header as received, because the signature covers these bytes. */
  readonly protectedBytes: Uint8Array
  readonly alg: SignatureAlgorithm
  readonly kid: Uint8Array
  readonly issuer: string
  readonly subject: string
  readonly issuedAtSeconds: number
  readonly payload: Uint8Array
  readonly signature: Uint8Array
}
