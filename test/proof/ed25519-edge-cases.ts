import { Point } from '@noble/ed25519'
import { toHex } from '../../src/proof/bytes.ts'

/*
 * Encodings of Ed25519 points that verifiers must refuse as key or as R. They are from the papers "Taming the many
 * EdDSAs" (Chalkias, Garillot, Nikolaenko) and "It's 255:19AM" (de Valence), and from libsodium's blacklist.
 */

/**
 * A point of order 8. It is found by trial: multiplying any point by L removes the point's component in the large
 * group, and for half of all points the result has order 8.
 */
export const ORDER_8: Point = firstOfOrder8()

function firstOfOrder8(): Point {
  for (let y = 2; ; y++) {
    const point = pointAt(y)
    const found = point?.multiply(Point.CURVE().n - 1n).add(point)
    if (found && !found.double().double().equals(Point.ZERO)) return found
  }
}

function pointAt(y: number): Point | null {
  try {
    return Point.fromBytes(new Uint8Array(32).fill(y, 0, 1))
  } catch {
    return null
  }
}

/** The eight points of small order, in all their encodings below p and with either sign bit. */
export const SMALL_ORDER_POINTS: readonly (readonly [string, string])[] = smallOrderPoints()

function smallOrderPoints(): [string, string][] {
  const encodings = new Set<string>()
  for (let i = 0, point = Point.ZERO; i < 8; i++, point = point.add(ORDER_8)) {
    const encoding = point.toBytes()
    encodings.add(toHex(encoding))
    encoding[31]! ^= 0x80 // This is the negative of the point, or another encoding of the same point if x = 0.
    encodings.add(toHex(encoding))
  }
  return [...encodings].map((hex) => [`of small order, ${hex.slice(0, 8)}… ${hex.slice(-2)}`, hex])
}

/** Encodings whose y is not reduced: from p = 2^255 - 19 up to 2^255 - 1. */
export const NOT_CANONICAL_POINTS: readonly (readonly [string, string])[] = Array.from(
  { length: 19 },
  (_, i) => toHex(new Uint8Array([0xed + i, ...new Uint8Array(30).fill(0xff), 0x7f])),
).flatMap((hex, i) => [
  [`y = p + ${i}`, hex],
  [`y = p + ${i}, sign bit set`, hex.replace(/7f$/, 'ff')],
])
