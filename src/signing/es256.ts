import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { PublicKey, VerifySignature } from '../proof/crypto.ts'
import { hasLowS } from '../proof/p256-low-s.ts'

/** Node's name for the signature form r ‖ s. COSE uses this form (RFC 9053 §2.1) instead of DER. */
const P1363 = 'ieee-p1363'

/** Verifies ES256 with node:crypto, which works even if libsodium cannot be loaded. */
export const verifyEs256: VerifySignature = (key, message, signature) => {
  if (!hasLowS(signature)) return false
  const publicKey = es256Key(key)
  return publicKey !== null && verify('sha256', message, { key: publicKey, dsaEncoding: P1363 }, signature)
}

const es256Keys = new WeakMap<PublicKey, KeyObject | null>()

/**
 * Returns the key object. Returns null if the bytes are no point of the curve, because no signature can then be valid.
 */
function es256Key(key: PublicKey): KeyObject | null {
  const known = es256Keys.get(key)
  if (known !== undefined) return known
  const made = makeEs256Key(key)
  es256Keys.set(key, made)
  return made
}

function makeEs256Key(key: PublicKey): KeyObject | null {
  try {
    return createPublicKey({ key: Buffer.from(key.spki), format: 'der', type: 'spki' })
  } catch {
    return null
  }
}
