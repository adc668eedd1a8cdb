import { createHmac } from 'node:crypto'

/** Bytes of a keyed hash: among ten million labels two are equal once in 10^24. */
export const SUBJECT_HASH_BYTES = 16

/**
 * Returns the keyed hash by which a person's records are found: the first 16 bytes of HMAC-SHA256 under the ledger's
 * salt. Labels of two ledgers cannot be compared, and a hash does not reveal its label. But whoever has the salt can
 * try labels. So the hash is personal data: it is stored beside the chain, and erased with the document
 * (docs/decisions/0031-a-person-is-found-by-a-label-beside-the-chain.md). `salt`: 32 bytes.
 */
export function hashSubject(salt: Uint8Array, label: string): Buffer {
  return createHmac('sha256', salt).update(label).digest().subarray(0, SUBJECT_HASH_BYTES)
}
