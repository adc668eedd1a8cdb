import { concat, equalBytes, fromHex } from './bytes.ts'
import { HASH_BYTES, type PublicKey, type Sha256, type SignatureAlgorithm } from './crypto.ts'
import { refuseWeakEd25519Point } from './ed25519-points.ts'
import { ProofError } from './error.ts'

/**
 * The one accepted DER form of each kind of key (RFC 8410 §4; RFC 5480 §2). So comparing a fixed prefix is a complete
 * parser.
 */
const FORMS = {
  EdDSA: { prefix: fromHex('302a300506032b6570032100'), rawBytes: 32 },
  ES256: { prefix: fromHex('3059301306072a8648ce3d020106082a8648ce3d030107034200'), rawBytes: 65 },
} as const

const UNCOMPRESSED = 0x04

/**
 * Parses a DER public key. Throws `bad_key` for:
 *
 * - another form of DER, another curve, a compressed point
 * - Ed25519 keys that are not canonical
 * - Ed25519 keys of small order, under which one signature can be valid for many messages
 *
 * Does not check whether a P-256 point lies on its curve. The provider checks this at each use.
 */
export function parsePublicKey(alg: SignatureAlgorithm, spki: Uint8Array): PublicKey {
  const { prefix, rawBytes } = FORMS[alg]
  if (spki.length !== prefix.length + rawBytes || !equalBytes(spki.subarray(0, prefix.length), prefix)) {
    throw new ProofError('bad_key', `the key is not the SubjectPublicKeyInfo (DER) of an ${alg} key`)
  }
  const raw = new Uint8Array(spki.subarray(prefix.length))
  refuseWeak(alg, raw)
  return { alg, spki, raw }
}

/** Encodes a raw key (see PublicKey) as DER. Throws `bad_key` in the same cases as parsePublicKey. */
export function spkiOf(alg: SignatureAlgorithm, raw: Uint8Array): Uint8Array {
  const { prefix, rawBytes } = FORMS[alg]
  if (raw.length !== rawBytes)
    throw new ProofError('bad_key', `the raw key has ${raw.length} bytes, not ${rawBytes}`)
  refuseWeak(alg, raw)
  return concat([prefix, raw])
}

function refuseWeak(alg: SignatureAlgorithm, raw: Uint8Array): void {
  if (alg === 'EdDSA') refuseWeakEd25519Point(raw)
  else if (raw[0] !== UNCOMPRESSED)
    throw new ProofError('bad_key', 'the key is not an uncompressed point of P-256')
}

/**
 * Fixed bytes of COSE_Key maps in deterministic CBOR, without the coordinates. A whole map is {1: kty, -1: crv, -2: x,
 * -3: y}.
 */
const OKP_HEAD = fromHex('a3010120062158' + '20')
const EC2_HEAD = fromHex('a40102200121' + '5820')
const EC2_Y = fromHex('22' + '5820')

/** Returns the RFC 9679 COSE key thumbprint with SHA-256, 32 bytes. The thumbprint is the kid of our envelopes. */
export function keyThumbprint(sha256: Sha256, key: PublicKey): Uint8Array {
  if (key.alg === 'EdDSA') return sha256(concat([OKP_HEAD, key.raw]))
  const x = key.raw.subarray(1, 1 + HASH_BYTES)
  const y = key.raw.subarray(1 + HASH_BYTES)
  return sha256(concat([EC2_HEAD, x, EC2_Y, y]))
}
