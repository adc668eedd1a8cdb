import { fromHex, toHex } from './bytes.ts'
import { SIGNATURE_BYTES } from './crypto.ts'
import { SMALL_ORDER_Y } from './edwards25519.ts'
import { ProofError } from './error.ts'

/*
 * Functions that refuse Ed25519 points which must be neither a key nor the R of a signature. Under a key of small
 * order, one forged signature is valid for many messages. A point with two encodings would give one key two names.
 */

const SIGN_BIT = 0x80

/**
 * Returns true if the 32 bytes encode a point that must not be used. RFC 8032 §5.1.3 refuses a y ≥ 2^255 - 19. Points
 * of small order are refused too.
 */
export function isWeakEd25519Point(point: Uint8Array): boolean {
  const y = new Uint8Array(point) // Makes a real copy, because `slice()` of a Buffer does not copy.
  y[31]! &= ~SIGN_BIT
  if (y[31] === 0x7f && y[0]! >= 0xed && y.subarray(1, 31).every((byte) => byte === 0xff)) return true
  return SMALL_ORDER_Y.has(toHex(y))
}

/** The group's order, 2^252 + 27742317777372353535851937790883648493, in little-endian form like S. */
const ORDER = fromHex('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010')

/**
 * Returns true if S is below the group's order and neither R nor the key is a weak point. The caller must check this
 * before verifying the signature: libraries differ in exactly these checks, but agree about the equation.
 */
export function isStrictEd25519(key: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES) return false
  return (
    isBelowOrder(signature.subarray(32)) &&
    !isWeakEd25519Point(key) &&
    !isWeakEd25519Point(signature.subarray(0, 32))
  )
}

function isBelowOrder(s: Uint8Array): boolean {
  for (let i = ORDER.length - 1; i >= 0; i--) if (s[i] !== ORDER[i]) return s[i]! < ORDER[i]!
  return false
}

/**
 * Throws `bad_key` if the point is weak. Does not check whether the bytes are a point at all: the provider checks this
 * at each use.
 */
export function refuseWeakEd25519Point(point: Uint8Array): void {
  if (isWeakEd25519Point(point))
    throw new ProofError('bad_key', 'the key is not canonical, or of small order')
}
