import { createHmac } from 'node:crypto'

/** Length of a keyed hash in bytes. Among ten million labels, two hashes are equal with a probability of 10^-24. */
export const SUBJECT_HASH_BYTES = 16

/**
 * Returns the keyed hash by which a person's records are found: the first 16 bytes of HMAC-SHA256 of the label, with
 * the ledger's 32-byte salt as the key.
 *
 * Nobody can compare labels of two ledgers by their hashes, and a hash does not reveal its label. But anybody who has
 * the salt can try labels. So the hash is personal data. It is stored beside the chain and erased with the document
 * (docs/decisions/0010-storage-of-records.md#labels-of-persons).
 */
export function hashSubject(salt: Uint8Array, label: string): Buffer {
  return createHmac('sha256', salt).update(label).digest().subarray(0, SUBJECT_HASH_BYTES)
}
