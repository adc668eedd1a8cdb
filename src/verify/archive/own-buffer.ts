import { ownCopy } from '../../proof/bytes.ts'

/**
 * Returns the bytes as a Buffer that owns its memory. Cached objects need this, so that they do not retain a larger
 * buffer.
 */
export function ownBuffer(bytes: Buffer): Buffer {
  const { buffer, byteOffset, length } = ownCopy(bytes)
  return Buffer.from(buffer, byteOffset, length)
}
