/*
 * Cryptographic functions that src/proof gets from its callers. All hashing, signing and verifying goes through them.
 * src/signing implements each function twice: natively for servers, portably for browsers.
 */

/**
 * Computes SHA-256. Nobody may change the returned 32 bytes later. The function MUST NOT store a reference to `data`,
 * because callers pass scratch buffers and overwrite them before the next call.
 */
export type Sha256 = (data: Uint8Array) => Uint8Array

/** Signature algorithm of an envelope. `EdDSA` is Ed25519 only; `ES256` is ECDSA on P-256 with SHA-256. */
export type SignatureAlgorithm = 'EdDSA' | 'ES256'

/**
 * Returns true if `signature` is a signature of `message` by `key`. An attacker controls signature and message, so the
 * function MUST return false for malformed values and never throw.
 *
 * For Ed25519 the implementation MUST be strict (docs/formats/envelopes.md): S is below the group's order. Key and R
 * are canonical points and not of small order. Otherwise two verifiers could disagree about a ledger.
 *
 * For ES256 the signature is r ‖ s, 64 bytes (RFC 9053 §2.1). A high s is refused (p256-low-s.ts).
 */
export type VerifySignature = (key: PublicKey, message: Uint8Array, signature: Uint8Array) => boolean

/** Signs with one private key. `kid`: RFC 9679 thumbprint of `key`, with 32 bytes. */
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
 * A public key. `spki`: DER SubjectPublicKeyInfo. `raw`: for Ed25519 the 32 bytes of RFC 8032, for P-256 the 65 bytes
 * of the uncompressed point (0x04 ‖ x ‖ y).
 */
export type PublicKey = {
  readonly alg: SignatureAlgorithm
  readonly spki: Uint8Array
  readonly raw: Uint8Array
}
