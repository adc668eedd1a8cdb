import { ownCopy } from '../../proof/bytes.ts'

/** Returns the bytes as a Buffer that owns its memory, for cached objects. */
export function ownBuffer(bytes: Buffer): Buffer {
  const { buffer, byteOffset, length } = ownCopy(bytes)
  return Buffer.from(buffer, byteOffset, length)
}
