import { ProofError } from '../proof/error.ts'

/**
 * Counterparts of the functions in src/proof/bytes.ts. They use Node's own functions and take a tenth of the time. The
 * functions in src/proof must be portable.
 */
export function toHex(bytes: Uint8Array): string {
  return view(bytes).toString('hex')
}

export function toBase64(bytes: Uint8Array): string {
  return view(bytes).toString('base64')
}

/** Decodes canonical base64. Throws ProofError `bad_base64` for a text that toBase64 does not write. */
export function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw new ProofError('bad_base64', 'not canonical base64')
  return bytes
}

export function toBase64Url(bytes: Uint8Array): string {
  return view(bytes).toString('base64url')
}

function view(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
