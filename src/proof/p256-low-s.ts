import { fromHex } from './bytes.ts'
import { SIGNATURE_BYTES } from './crypto.ts'

/*
 * ECDSA has two signatures for each: of (r, s), (r, n - s) is as good, and anybody can make the one of the other, without a key.
 * The envelope around it would be another one, of another leaf, and as genuine as the first: so one of the two counts, the lower.
 */

/** The order of P-256, and half of it, rounded down; big-endian as s is. */
const ORDER = fromHex('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551')
const HALF_ORDER = fromHex('7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8')

/** Whether s of r ‖ s is the lower of the two. A provider finds out the rest. */
export function hasLowS(signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES) return false
  for (const [i, limit] of HALF_ORDER.entries()) {
    const byte = signature[i + HALF_ORDER.length]!
    if (byte !== limit) return byte < limit
  }
  return true
}

/** The same signature with the lower s. */
export function lowerS(signature: Uint8Array): Uint8Array {
  if (hasLowS(signature)) return signature
  const lower = signature.slice()
  let borrow = 0
  for (let i = ORDER.length - 1; i >= 0; i--) {
    const difference = ORDER[i]! - signature[i + ORDER.length]! - borrow
    borrow = difference < 0 ? 1 : 0
    lower[i + ORDER.length] = difference & 0xff
  }
  return lower
}
