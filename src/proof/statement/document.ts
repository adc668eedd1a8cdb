import type { Sha256 } from '../crypto.ts'

const DOCUMENT_PREFIX = 0x03

/**
 * Buffer for the bytes that are hashed. Only a larger document gets a buffer of its own, because an allocation for each
 * document would cost more than copying the document.
 */
const scratch = new Uint8Array(4096)

/**
 * Returns H(0x03 ‖ salt ‖ JCS(document)), the digest of a document that a statement signs. `canonical`: UTF-8 bytes of
 * the document's JCS.
 *
 * `salt` MUST be 16 bytes. The hashed bytes do not show where the salt ends, so salts of other lengths could give two
 * documents the same digest. The salt also prevents that somebody finds a short document by trying all texts.
 */
export function documentDigest(sha256: Sha256, salt: Uint8Array, canonical: Uint8Array): Uint8Array {
  const length = 1 + salt.length + canonical.length
  const input = length <= scratch.length ? scratch : new Uint8Array(length)
  input[0] = DOCUMENT_PREFIX
  input.set(salt, 1)
  input.set(canonical, 1 + salt.length)
  return sha256(input.subarray(0, length))
}
