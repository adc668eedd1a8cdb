import { sha256 } from '@noble/hashes/sha2.js'
import { toBase64Url, toHex, utf8Encode } from '../../src/proof/bytes.ts'
import { type Uuid, uuidOfBytes } from '../../src/proof/ids.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { documentDigest } from '../../src/proof/statement/document.ts'
import { UsageError } from '../errors.ts'

export { sha256 }

/** Salt of a document, and the salted digest that a statement contains. */
export type Salted = {
  readonly salt: Uint8Array
  /** The salt in base64url, as in a request. */
  readonly saltText: string
  /** The digest in lower-case hex. */
  readonly digest: string
}

export function saltDocument(document: unknown, given?: string | undefined): Salted {
  const salt = given === undefined ? random(16) : parseSalt(given)
  return { salt, saltText: toBase64Url(salt), digest: digestWith(salt, document) }
}

/**
 * Returns the digest of a value, salted with the salt of a document. A record's references use the salt of its payload.
 */
export function digestWith(salt: Uint8Array, document: unknown): string {
  return toHex(documentDigest(sha256, salt, utf8Encode(canonicalize(document as JsonValue))))
}

function parseSalt(text: string): Uint8Array {
  const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  if (bytes.length === 16) return bytes
  throw new UsageError('a salt must be 16 bytes, base64url without padding')
}

/** Returns the time in the form that the server signs: UTC with milliseconds. Throws UsageError for an invalid time. */
export function timeOf(text: string): string {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw new UsageError(`${text} is not a time such as 2027-03-31T12:00:00Z`)
  return new Date(ms).toISOString()
}

/** Returns a new UUIDv7 (RFC 9562 §5.7). */
export function uuidv7(nowMs: number): Uuid {
  const id = random(16)
  const view = new DataView(id.buffer)
  view.setUint16(0, Math.floor(nowMs / 2 ** 32))
  view.setUint32(2, nowMs % 2 ** 32)
  id[6] = (id[6]! & 0x0f) | 0x70
  id[8] = (id[8]! & 0x3f) | 0x80
  return uuidOfBytes(id)
}

function random(bytes: number): Uint8Array<ArrayBuffer> {
  return globalThis.crypto.getRandomValues(new Uint8Array(bytes))
}
