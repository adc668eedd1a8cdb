/**
 * Types of the functions of sodium-native that are used here, because the package has no types. Arguments MUST be
 * Uint8Arrays of the exact length.
 */
declare module 'sodium-native' {
  const sodium: {
    readonly crypto_sign_PUBLICKEYBYTES: number
    readonly crypto_sign_SECRETKEYBYTES: number
    crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): void
    crypto_sign_detached(signature: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void
    crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean
    /** Allocates memory that is never swapped out and is wiped when it is freed. */
    sodium_malloc(bytes: number): Buffer
  }
  export default sodium
}
