/*
 * Computes the points of small order of edwards25519 (RFC 8032 §5.1), on the curve -x² + y² = 1 + d·x²·y² over the
 * integers modulo p. They are computed because a list typed by hand could contain a wrong digit. A verifier would then
 * accept forged signatures.
 */

const P = 2n ** 255n - 19n
const D = modulo(-121665n * inverse(121666n))
const SQRT_MINUS_1 = power(2n, (P - 1n) / 4n)

type Point = { readonly x: bigint; readonly y: bigint }

/**
 * y coordinates of the eight points of small order, which are the multiples of a point of order 8. Each coordinate has
 * 32 bytes in lower-case hex, little-endian, with the sign bit cleared.
 */
export const SMALL_ORDER_Y: ReadonlySet<string> = new Set(
  multiplesOf(pointOfOrder8()).map(({ y }) => hexOf(y)),
)

/**
 * Returns a point of order 8. Doubling such a point gives a point with y = 0, whose order is 4. So x² + y² = 0, and
 * therefore x = √-1·y. With this x, the curve's equation becomes d·y⁴ + 2·y² - 1 = 0, so y² is (-1 - √(1 + d)) / d. The
 * other root of the equation is not a square.
 */
function pointOfOrder8(): Point {
  const y = squareRoot((-1n - squareRoot(1n + D)) * inverse(D))
  return { x: modulo(SQRT_MINUS_1 * y), y }
}

function multiplesOf(point: Point): Point[] {
  const multiples = [point]
  while (multiples.length < 8) multiples.push(add(multiples.at(-1)!, point))
  return multiples
}

/** Adds two points by RFC 8032 §5.1.4, without projective coordinates. */
function add(a: Point, b: Point): Point {
  const product = D * a.x * b.x * a.y * b.y
  return {
    x: modulo((a.x * b.y + b.x * a.y) * inverse(1n + product)),
    y: modulo((a.y * b.y + a.x * b.x) * inverse(1n - product)),
  }
}

/** Returns a square root of `square`. The root is one of two candidates (RFC 8032 §5.1.3). */
function squareRoot(square: bigint): bigint {
  const first = power(square, (P + 3n) / 8n)
  return [first, modulo(first * SQRT_MINUS_1)].find((root) => modulo(root * root - square) === 0n)!
}

function modulo(value: bigint): bigint {
  const rest = value % P
  return rest < 0n ? rest + P : rest
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  let square = modulo(base)
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = modulo(result * square)
    square = modulo(square * square)
  }
  return result
}

/** Returns the inverse modulo P by Euclid's algorithm. This is ten times as fast as `power(value, P - 2n)`. */
function inverse(value: bigint): bigint {
  let [a, b, x, y] = [modulo(value), P, 1n, 0n]
  while (b > 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y]
  return modulo(x)
}

function hexOf(y: bigint): string {
  const bigEndian = y.toString(16).padStart(64, '0')
  return bigEndian.match(/../g)!.reverse().join('')
}
