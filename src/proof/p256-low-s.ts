import { fromHex } from './bytes.ts'
import { SIGNATURE_BYTES } from './crypto.ts'

/*
 * ECDSA has two signatures for each message: beside (r, s), (r, n - s) is as good, and anybody can make the one of the
 * other, without a key. The envelope around it would be another one, of another leaf, and as genuine as the first: so
 * one of the two counts, the lower.
 */

/** Half of the order of P-256, rounded down; big-endian as s is. */
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
