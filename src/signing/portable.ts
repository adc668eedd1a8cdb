import { Point } from '@noble/ed25519'
import { concat, equalBytes } from '../proof/bytes.ts'
import type { ProofProviders, Sha256, VerifySignature } from '../proof/crypto.ts'
import { isStrictEd25519 } from '../proof/ed25519-points.ts'
import { ProofError } from '../proof/error.ts'

/*
 * Counterpart of native.ts without native modules. It is for browsers, and for auditors who want code that they can
 * read.
 *
 * It is 30 to 50 times slower than native.ts. Tests verify that both modules make the same bytes and refuse the same
 * input.
 */

export type PortableHashes = {
  readonly sha256: Sha256
  readonly sha512: (data: Uint8Array) => Uint8Array
}

/** Makes the providers. Without `verifyEs256`, ES256 keys are refused with `cose_algorithm`. */
export function makePortableProviders(
  hashes: PortableHashes,
  verifyEs256: VerifySignature = refuseEs256,
): ProofProviders {
  return {
    sha256: hashes.sha256,
    verifySignature: (key, message, signature) =>
      key.alg === 'EdDSA'
        ? verifyEd25519(hashes.sha512, key.raw, message, signature)
        : verifyEs256(key, message, signature),
  }
}

function refuseEs256(): never {
  throw new ProofError(
    'cose_algorithm',
    'the key is a key of ES256, but only EdDSA (Ed25519) is supported here',
  )
}

/**
 * Verifies Ed25519 (RFC 8032 §5.1.7) by the equation without cofactor: R and [S]B - [k]A are compared as bytes.
 *
 * noble's own `verify` is not used, because it multiplies by the cofactor, even with `zip215: false`. It therefore
 * accepts keys and R with a component of small order, which libsodium and OpenSSL refuse. The owner of such a key could
 * make entries that one verifier accepts and another refuses.
 */
function verifyEd25519(
  sha512: PortableHashes['sha512'],
  key: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (!isStrictEd25519(key, signature)) return false
  const r = signature.subarray(0, 32)
  const s = littleEndian(signature.subarray(32))
  const k = littleEndian(sha512(concat([r, key, message]))) % ORDER
  const a = findPoint(key)
  if (!a) return false
  return equalBytes(Point.BASE.multiply(s, false).subtract(a.multiply(k, false)).toBytes(), r)
}

const ORDER = Point.CURVE().n

/** Returns the point. Returns null if the bytes are no point of the curve. */
function findPoint(bytes: Uint8Array): Point | null {
  try {
    return Point.fromBytes(bytes)
  } catch {
    return null
  }
}

function littleEndian(bytes: Uint8Array): bigint {
  let value = 0n
  for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]!)
  return value
}
