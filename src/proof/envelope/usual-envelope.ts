import { equalBytes, utf8Decode } from '../bytes.ts'
import { HASH_BYTES, SIGNATURE_BYTES, type SignatureAlgorithm } from '../crypto.ts'
import {
  ARRAY_OF_4,
  BYTES,
  CLAIM_ISSUED_AT,
  CLAIM_SUBJECT,
  CLAIMS_START,
  EMPTY_MAP,
  HEADER_START,
  headerStart,
  type ParsedEnvelope,
  TAG_18,
  TEXT,
  UINT,
} from './envelope-layout.ts'

/**
 * Reads an envelope with exactly the layout that we write. Only the algorithm may be -19 instead of -8. In this layout,
 * heads have their shortest form and members are in order. So the envelope is the deterministic encoding of its values.
 * Returns null for any other envelope; parseEnvelope then decodes or refuses it.
 *
 * Takes 1.3 µs. Decoding, encoding again and comparing takes 11.9 µs.
 */
export function readUsualEnvelope(bytes: Uint8Array): ParsedEnvelope | null {
  const reader = new Reader(bytes)
  if (!reader.skip(TAG_18) || !reader.skip(ARRAY_OF_4)) return null
  const protectedBytes = reader.take(BYTES)
  if (protectedBytes === null || !reader.skip(EMPTY_MAP)) return null
  const payload = reader.take(BYTES)
  const signature = reader.take(BYTES)
  if (payload === null || signature?.length !== SIGNATURE_BYTES || !reader.isAtEnd) return null
  const header = readHeader(protectedBytes)
  return header && { ...header, protectedBytes, payload, signature }
}

type Header = Pick<ParsedEnvelope, 'alg' | 'kid' | 'issuer' | 'subject' | 'issuedAtSeconds'>

function readHeader(bytes: Uint8Array): Header | null {
  const form = FORMS.find(({ start }) => startsWith(bytes, start))
  if (form === undefined) return null
  const { alg } = form
  const kidAt = form.start.length
  const claimsAt = kidAt + HASH_BYTES
  const reader = new Reader(bytes.subarray(claimsAt))
  if (!CLAIMS_START.every((byte) => reader.skip(byte))) return null
  const issuer = textOf(reader.take(TEXT))
  if (issuer === null || !reader.skip(CLAIM_SUBJECT)) return null
  const subject = textOf(reader.take(TEXT))
  if (subject === null || !reader.skip(CLAIM_ISSUED_AT)) return null
  const issuedAtSeconds = reader.head(UINT)
  if (issuedAtSeconds === null || !reader.isAtEnd) return null
  const kid = bytes.subarray(kidAt, claimsAt)
  return { alg, kid, issuer, subject, issuedAtSeconds }
}

/**
 * Algorithms with the header bytes before the kid. Agents that sign for themselves may write -19 (RFC 9864) for EdDSA.
 */
const FORMS: readonly { readonly alg: SignatureAlgorithm; readonly start: Uint8Array }[] = [
  { alg: 'EdDSA', start: HEADER_START.EdDSA },
  { alg: 'ES256', start: HEADER_START.ES256 },
  { alg: 'EdDSA', start: headerStart(0x32) },
]

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  return equalBytes(bytes.subarray(0, start.length), start)
}

function textOf(bytes: Uint8Array | null): string | null {
  if (bytes === null) return null
  try {
    return utf8Decode(bytes)
  } catch {
    return null
  }
}

/**
 * Reads heads of one to five bytes. Five bytes are enough for every length in an envelope, and for every time before
 * 2106.
 */
class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  skip(byte: number): boolean {
    return this.#bytes[this.#at++] === byte
  }

  /** Reads a head of this major type in its shortest form. Returns the head's value, or null for any other head. */
  head(major: number): number | null {
    const first = this.#bytes[this.#at++]! ^ major
    if (first < 24) return first
    if (first > 26) return null
    const length = 1 << (first - 24)
    let value = 0
    for (let i = 0; i < length; i++) value = value * 256 + this.#bytes[this.#at++]!
    // A value that fits the next shorter form is refused. If the bytes end early, the value is NaN and the comparison
    // is false.
    return value > SHORTER_MAX[first - 24]! ? value : null
  }

  take(major: number): Uint8Array | null {
    const length = this.head(major)
    if (length === null || this.#at + length > this.#bytes.length) return null
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}

const SHORTER_MAX = [23, 0xff, 0xffff]
