import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/* Documents of a piece (docs/formats/archive.md): each with its length before it, nonce ‖ ciphertext ‖ tag by AES-256-GCM. */

const LENGTH_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** `text`: JSON of a document's members. `key`: 32 bytes. */
export function sealDocument(text: string, key: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(sealed.reduce((sum, { length: bytes }) => sum + bytes, 0))
  return Buffer.concat([length, ...sealed])
}

/** In the place of a document that was erased before it could be archived. */
export const NO_DOCUMENT = Buffer.alloc(LENGTH_BYTES)

/** null: the bytes are not those that were sealed under this key. */
export function openDocument(sealed: Uint8Array, key: Uint8Array): string | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return (
      decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    )
  } catch {
    return null
  }
}

/** Where each sealed document begins that is there as a whole. */
export function* documentStarts(bytes: Buffer): Generator<number> {
  for (let at = 0; at < bytes.length; ) {
    const start = at + LENGTH_BYTES
    const end = start + (start <= bytes.length ? bytes.readUInt32BE(at) : Number.POSITIVE_INFINITY)
    if (end > bytes.length) return
    yield start
    at = end
  }
}

/** The sealed document that begins there; an empty one was erased. */
export function documentAt(bytes: Buffer, start: number): Buffer {
  return bytes.subarray(start, start + bytes.readUInt32BE(start - LENGTH_BYTES))
}

/** Sealed documents, one after another. */
export function* splitDocuments(bytes: Buffer): Generator<Buffer> {
  for (const start of documentStarts(bytes)) yield documentAt(bytes, start)
}
