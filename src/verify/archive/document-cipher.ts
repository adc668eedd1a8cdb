import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { utf8Decode } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { parseJsonText } from '../../proof/json/json-text.ts'
import { LINE_DEPTH_MAX } from '../../proof/limits.ts'
import type { Fields } from '../../proof/statement/check-schemas.ts'
import { isReferences, isString, refuseFields } from '../../proof/statement/fields.ts'

/*
 * Encrypted documents of a piece (docs/formats/archive.md). Each document begins with its length. Then follow nonce ‖
 * ciphertext ‖ tag of AES-256-GCM.
 */

const LENGTH_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts a document. `text`: JSON of the document's members. `key`: 32 bytes. */
export function sealDocument(text: string, key: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(sealed.reduce((sum, { length: bytes }) => sum + bytes, 0))
  return Buffer.concat([length, ...sealed])
}

/** Replaces a document that was erased before it was archived. */
export const NO_DOCUMENT = Buffer.alloc(LENGTH_BYTES)

/** Decrypts a document. Returns null if it was not encrypted under this key. */
export function openDocument(sealed: Uint8Array, key: Uint8Array): Buffer | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  } catch {
    return null
  }
}

/**
 * Returns the start of each of `count` sealed documents, after the bytes with the document's length. Throws ProofError
 * `archive_object` if the bytes are more or less than these documents, or if a document is too short for a ciphertext
 * and not empty.
 */
export function documentStarts(bytes: Buffer, count: number): number[] {
  const starts: number[] = []
  let at = 0
  for (; at + LENGTH_BYTES <= bytes.length && starts.length < count; ) {
    const start = at + LENGTH_BYTES
    const length = bytes.readUInt32BE(at)
    if (length > 0 && length < NONCE_BYTES + TAG_BYTES) break
    starts.push(start)
    at = start + length
  }
  if (at !== bytes.length || starts.length !== count)
    throw new ProofError('archive_object', `the object does not contain exactly ${count} documents`)
  return starts
}

/** Returns the sealed document at `start`. The result is empty for an erased document. */
export function documentAt(bytes: Buffer, start: number): Buffer {
  return bytes.subarray(start, start + bytes.readUInt32BE(start - LENGTH_BYTES))
}

const PLAIN: Fields = {
  required: { salt: isString, document: () => true },
  optional: { references: isReferences },
}

/**
 * Maximum depth of a document's JSON. It is two levels less than a line's, because in a line of an export the document
 * begins two levels down.
 */
const PLAIN_DEPTH_MAX = LINE_DEPTH_MAX - 2

/**
 * Returns a decrypted document as text for a line of an export. Throws ProofError if the text is not exactly one object
 * with the members of a document, because other text could add further documents to the line.
 */
export function plainText(opened: Buffer): string {
  const text = utf8Decode(opened)
  refuseFields(parseJsonText(text, { depthMax: PLAIN_DEPTH_MAX }), PLAIN, 'archive_object')
  if (!text.startsWith('{') || !text.endsWith('}'))
    throw new ProofError('archive_object', 'there is white space around a document')
  return text
}
