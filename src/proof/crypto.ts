/*
 * Functions that this directory needs from outside: it hashes, signs and verifies only through them. src/signing has a native
 * implementation of each for servers and a portable one for browsers.
 */

/**
 * SHA-256. MUST return 32 bytes that nobody else writes to, and MUST NOT keep a reference to `data`: callers
 * pass scratch buffers that they overwrite with the next call.
 */
export type Sha256 = (data: Uint8Array) => Uint8Array

/** How an envelope is signed: `EdDSA` is Ed25519 and nothing else, `ES256` is ECDSA on P-256 with SHA-256. */
export type SignatureAlgorithm = 'EdDSA' | 'ES256'

/**
 * Whether `signature` is the key's over `message`. MUST return false, not throw, for whatever the last two
 * arguments hold: both are under an attacker's control.
 *
 * For Ed25519 the implementation MUST be strict (docs/formats/envelopes.md): S below the group's order, key and
 * R canonical points, neither of small order. Two verifiers that differ there would disagree about a ledger.
 * For ES256 the signature is r ‖ s, 64 bytes (RFC 9053 §2.1), and a high s is refused (p256-low-s.ts).
 */
export type VerifySignature = (key: PublicKey, message: Uint8Array, signature: Uint8Array) => boolean

/** Makes signatures with one private key. `kid`: RFC 9679 thumbprint of `key`, 32 bytes. */
export type Signer = {
  readonly kid: Uint8Array
  readonly key: PublicKey
  sign(message: Uint8Array): Uint8Array
}

/** Functions that verifying needs. */
export type ProofProviders = {
  readonly sha256: Sha256
  readonly verifySignature: VerifySignature
}

export const HASH_BYTES = 32
export const SIGNATURE_BYTES = 64

/**
 * A public key. `spki`: DER SubjectPublicKeyInfo; `raw`: 32 bytes (Ed25519, RFC 8032) or the 65 bytes of an
 * uncompressed P-256 point (0x04 ‖ x ‖ y).
 */
export type PublicKey = {
  readonly alg: SignatureAlgorithm
  readonly spki: Uint8Array
  readonly raw: Uint8Array
}
