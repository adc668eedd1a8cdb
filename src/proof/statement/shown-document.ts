import { fromBase64Url, toHex, utf8Encode } from '../bytes.ts'
import type { Sha256 } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { canonicalize } from '../json/jcs.ts'
import type { JsonObject, JsonValue } from '../json/json-value.ts'
import { SALT_BYTES } from '../limits.ts'
import { documentDigest } from './document.ts'

/*
 * Checks of documents in the API's answers. A document is a member of an object that also contains the document's salt.
 */

/**
 * Returns the salt of a shown document. A null member counts as absent. Throws:
 *
 * - `document_presence` if the document is erased
 * - `record_contradicts_proof` if only the document or only the salt is shown, or if the salt is malformed
 */
export function parseShownSalt(shown: JsonObject, name: string): Uint8Array {
  const { [name]: document = null, salt = null } = shown
  if (document === null && salt === null)
    throw new ProofError('document_presence', `the ${name} is erased: only its digest remains`)
  if (typeof salt !== 'string' || document === null)
    throw new ProofError('record_contradicts_proof', `the ${name} or its salt is missing`)
  const bytes = fromBase64Url(salt)
  if (bytes.length === SALT_BYTES) return bytes
  throw new ProofError('record_contradicts_proof', `a salt has ${bytes.length} bytes, not ${SALT_BYTES}`)
}

/** Verifies the digest of a shown document. `signed`: the signed digest in lower-case hex. Throws `document_digest`. */
export function verifyShownDigest(
  sha256: Sha256,
  salt: Uint8Array,
  name: string,
  value: JsonValue,
  signed: string,
): void {
  const digest = toHex(documentDigest(sha256, salt, utf8Encode(canonicalize(value))))
  if (digest !== signed)
    throw new ProofError('document_digest', `${name} has the digest ${digest}, but ${signed} was signed`)
}
