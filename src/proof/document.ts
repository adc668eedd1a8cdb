import { concat } from './bytes.ts'
import type { Sha256 } from './crypto.ts'

const DOCUMENT_PREFIX = new Uint8Array([0x03])

/**
 * H(0x03 ‖ salt ‖ JCS(document)): what a statement signs of a document. `canonical`: the UTF-8 bytes of its JCS.
 *
 * `salt` MUST be 16 bytes: the salt's end is not marked, so one of another length could pass for a piece of the
 * document. Whoever does not have it cannot find a short document by trying.
 */
export function documentDigest(sha256: Sha256, salt: Uint8Array, canonical: Uint8Array): Uint8Array {
  return sha256(concat([DOCUMENT_PREFIX, salt, canonical]))
}
