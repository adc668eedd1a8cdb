import { ApiError } from '../errors.ts'
import { fromBase64Url, toHex } from '../proof/bytes.ts'
import { canonicalize } from '../proof/json/jcs.ts'
import { parseChecked, parseJsonText } from '../proof/json/json-text.ts'
import type { JsonValue } from '../proof/json/json-value.ts'
import { DOCUMENT_BYTES_MAX, METADATA_BYTES_MAX, REFERENCES_BYTES_MAX } from '../proof/request-limits.ts'
import { documentDigest } from '../proof/statement/document.ts'
import { isTime } from '../proof/statement/fields.ts'
import type { Entropy } from '../signing/entropy.ts'
import { nativeProviders } from '../signing/native.ts'

export type SaltedDocument = {
  readonly canonical: string
  readonly salt: Uint8Array
  readonly digest: Uint8Array
}

type Members = Record<string, unknown>

/** A document that a thread has salted and digested. The text is parsed when `value` is read. */
export class SaltedText implements SaltedDocument {
  readonly canonical: string
  readonly salt: Uint8Array
  readonly digest: Uint8Array

  constructor({ canonical, salt, digest }: SaltedDocument) {
    this.canonical = canonical
    this.salt = salt
    this.digest = digest
  }

  get value(): JsonValue {
    return parseChecked(this.canonical)
  }
}

/**
 * A document that the server itself made, in canonical form. The constructor throws ProofError if verifiers would
 * refuse the document.
 */
export class CanonicalDocument {
  readonly text: string
  readonly bytes: Buffer

  constructor(text: string) {
    // JCS rejects lone surrogates but accepts U+0000. The matching text may also be an escaped backslash followed by
    // `u0000`. Only parsing shows which of the two it is.
    if (text.includes(ESCAPED_NUL)) parseJsonText(text)
    this.text = text
    this.bytes = Buffer.from(text)
  }
}

export const ESCAPED_NUL = '\\u0000'

/** Salts the payload of a request. Returns the salted payload with the value that the type's schema validates. */
export function saltPayload(
  entropy: Entropy,
  { payload, salt }: { readonly payload: unknown; readonly salt?: string | undefined },
): SaltedDocument & { readonly value: unknown } {
  if (payload instanceof SaltedText) return payload
  return { ...saltDocument(entropy, payload, salt), value: payload }
}

export function saltDocument(
  entropy: Entropy,
  value: unknown,
  salt: string | undefined,
  members: Members = {},
): SaltedDocument & { /** Canonical text of the payload in UTF-8. */ readonly bytes: Uint8Array } {
  const { text: canonical, bytes } =
    value instanceof CanonicalDocument ? value : new CanonicalDocument(canonicalize(value as JsonValue))
  if (bytes.length > DOCUMENT_BYTES_MAX) {
    const detail = `the document has ${bytes.length} bytes in canonical form; at most ${DOCUMENT_BYTES_MAX} are allowed`
    throw new ApiError('document_too_large', detail, { members })
  }
  const saltBytes = salt === undefined ? entropy.bytes16() : fromBase64Url(salt)
  return {
    canonical,
    bytes,
    salt: saltBytes,
    digest: documentDigest(nativeProviders.sha256, saltBytes, bytes),
  }
}

/**
 * Returns the references as they are stored, with the digest that the statement signs. The digest uses the payload's
 * salt, so payload and references are erased together.
 */
export function digestReferences(
  references: readonly string[] | undefined,
  salt: Uint8Array,
  members: Members = { path: '/references' },
): { readonly canonical: string; readonly bytes: Uint8Array; readonly digest: string } | null {
  if (references === undefined || references.length === 0) return null
  const canonical = canonicalize([...references])
  const bytes = Buffer.from(canonical)
  if (bytes.length > REFERENCES_BYTES_MAX) {
    const detail = `the references have ${bytes.length} bytes in canonical form; at most ${REFERENCES_BYTES_MAX} are allowed`
    throw new ApiError('invalid_request', detail, { members })
  }
  return { canonical, bytes, digest: toHex(documentDigest(nativeProviders.sha256, salt, bytes)) }
}

/**
 * Returns the metadata as canonical text. Returns null if the request has no metadata. Metadata is free-form and
 * unsigned.
 */
export function canonicalMetadata(value: unknown, members: Members = {}): string | null {
  if (value === undefined) return null
  const canonical = canonicalize(value as JsonValue)
  const bytes = Buffer.byteLength(canonical)
  if (bytes > METADATA_BYTES_MAX) {
    const detail = `the metadata has ${bytes} bytes in canonical form; at most ${METADATA_BYTES_MAX} are allowed`
    throw new ApiError('metadata_too_large', detail, { members })
  }
  return canonical
}

/**
 * Parses an RFC 3339 time that the schema accepted. Returns ms since 1970. Throws for dates that do not exist, such as
 * 30 February.
 */
export function parseTime(text: string, path: string, members: Members = {}): number {
  // Most programs write times in this form. So most times do not need the slower check below, which takes 0.5 µs.
  if (isTime(text)) return Date.parse(text)
  const ms = Date.parse(text)
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(text.slice(0, 19))) {
    throw new ApiError('invalid_request', `${path} is not a time that exists`, {
      members: { ...members, path },
    })
  }
  return ms
}
