import { hash } from 'node:crypto'
import { HASH_BYTES, type Sha256 } from '../proof/crypto.ts'

/**
 * Returns 32 fresh bytes from Node's own buffer pool.
 *
 * The function hashes to hex and then writes the hex, because this was the fastest. Microseconds for 65 / 200 / 600
 * bytes, on a CPU with SHA instructions:
 *
 * - hash to hex, then write: 0.36 / 0.45 / 0.73
 * - hash to a Buffer: 0.70 / 0.85 / 1.04
 * - libsodium: 0.49 / 0.88 / 2.17
 *
 * On a CPU without SHA instructions, libsodium takes as long as the first way for 65 bytes.
 */
export const sha256: Sha256 = (data) => {
  const out = Buffer.allocUnsafe(HASH_BYTES)
  out.write(sha256Hex(data), 'hex')
  return out
}

export function sha256Hex(data: Uint8Array): string {
  return hash('sha256', data, 'hex')
}
