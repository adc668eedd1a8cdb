import { concat, fromHex, toHex } from './bytes.ts'
import { SIGNATURE_BYTES } from './crypto.ts'

/*
 * ECDSA has two valid signatures for each message: (r, s) and (r, n - s). Anybody can compute one from the other
 * without a key. An envelope with the second signature would be just as valid as the first envelope, but would have
 * another leaf. So only the lower s is accepted.
 */

/** Half of the order of P-256, rounded down, in big-endian form like s. */
const HALF_ORDER = fromHex('7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8')

const ORDER = BigInt('0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551')

/**
 * Returns the equivalent signature with the lower s. It is for signers that may produce either form. `signature`: r ‖
 * s.
 */
export function lowS(signature: Uint8Array): Uint8Array {
  if (signature.length !== SIGNATURE_BYTES || hasLowS(signature)) return signature
  const half = HALF_ORDER.length
  const s = BigInt(`0x${toHex(signature.subarray(half))}`)
  if (s >= ORDER) return signature // The signature is invalid, so the provider will refuse it.
  return concat([signature.subarray(0, half), fromHex((ORDER - s).toString(16).padStart(2 * half, '0'))])
}

/**
 * Returns true if s is the lower of its two possible values. The provider verifies everything else about the signature.
 */
export function hasLowS(signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES) return false
  for (const [i, limit] of HALF_ORDER.entries()) {
    const byte = signature[i + HALF_ORDER.length]!
    if (byte !== limit) return byte < limit
  }
  return true
}
