import { alone } from '../../proof/bytes.ts'

/** Bytes in memory of their own, as a Buffer: for objects that are kept. */
export function aloneAsBuffer(bytes: Buffer): Buffer {
  const { buffer, byteOffset, length } = alone(bytes)
  return Buffer.from(buffer, byteOffset, length)
}
