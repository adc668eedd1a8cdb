/*
 * Functions that src/proof gets from outside. It hashes, signs and verifies only through them. src/signing implements
 * each natively for servers and portably for browsers.
 */

/**
 * Computes SHA-256. MUST return 32 bytes that nothing else writes to. MUST NOT keep a reference to `data`: callers
 * pass scratch buffers and overwrite them before the next call.
 */
export type Sha256 = (data: Uint8Array) => Uint8Array

/** Signature algorithm of an envelope. `EdDSA` is Ed25519 only; `ES256` is ECDSA on P-256 with SHA-256. */
export type SignatureAlgorithm = 'EdDSA' | 'ES256'

/**
 * Returns whether `signature` is the key's over `message`. An attacker controls both: the function MUST return false
 * for malformed values, and never throw.
 *
 * For Ed25519 the implementation MUST be strict (docs/formats/envelopes.md): S below the group's order, key and R
 * canonical points, neither of small order. Two verifiers that differ there would disagree about a ledger.
 *
 * For ES256 the signature is r ‖ s, 64 bytes (RFC 9053 §2.1). A high s is refused (p256-low-s.ts).
 */
export type VerifySignature = (key: PublicKey, message: Uint8Array, signature: Uint8Array) => boolean

/** Signs with one private key. `kid`: RFC 9679 thumbprint of `key`, 32 bytes. */
export type Signer = {
  readonly kid: Uint8Array
  readonly key: PublicKey
  sign(message: Uint8Array): Uint8Array
}

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
