import { createHmac } from 'node:crypto'

/** Bytes of a keyed hash: of ten million labels two are alike once in 10^24. */
export const SUBJECT_HASH_BYTES = 16

/**
 * Keyed hash of a label by which a person's records are found: HMAC-SHA256 under the ledger's salt, its first 16 bytes. Labels of
 * two ledgers can't be compared, and a label can't be read out of its hash, but somebody with the salt can try labels: it is personal data, lies
 * beside the chain, and goes with the document (docs/decisions/0031-a-person-is-found-by-a-label-beside-the-chain.md). `salt`: 32 bytes.
 */
export function hashSubject(salt: Uint8Array, label: string): Buffer {
  return createHmac('sha256', salt).update(label).digest().subarray(0, SUBJECT_HASH_BYTES)
}
