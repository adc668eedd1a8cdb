import { concat, utf8Encode } from '../bytes.ts'
import type { Sha256 } from '../crypto.ts'
import { formatIdBytes, ID_BYTES, parseIdBytes } from '../ids.ts'

/**
 * Facts from which the id of an offered completion is made. `ledger`: the guest ledger. `digest`: digest of the
 * evidence in lower-case hex.
 */
export type OfferedCompletionFacts = {
  readonly ledger: string
  readonly record: string
  /** The record's version after the step. */
  readonly version: number
  readonly digest: string
}

const DOMAIN = 'tallystick-offered-completion-v1'
export const COMPLETION_NONCE_BYTES = 4
const [VERSION_BYTE, VARIANT_BYTE] = [6, 8]

/**
 * Returns the id (`cmp_…`) of an offered completion (docs/formats/federation.md).
 *
 * A guest makes the id, and the chain of the home takes the id over. So no ledger may already have that id; otherwise a
 * guest could make the home's export unverifiable. Therefore the id is a UUID of version 8 (RFC 9562 §5.8), while a
 * ledger's own ids have version 7. The id contains the nonce, then a hash of the facts.
 */
export function offeredCompletionId(
  sha256: Sha256,
  facts: OfferedCompletionFacts,
  nonce: Uint8Array,
): string {
  const { ledger, record, version, digest } = facts
  const text = [DOMAIN, ledger, record, version, digest].join('\0')
  const hash = sha256(concat([utf8Encode(`${text}\0`), nonce]))
  const id = concat([nonce, hash.subarray(0, ID_BYTES - COMPLETION_NONCE_BYTES)])
  id[VERSION_BYTE] = (id[VERSION_BYTE]! & 0x0f) | 0x80
  id[VARIANT_BYTE] = (id[VARIANT_BYTE]! & 0x3f) | 0x80
  return formatIdBytes('cmp', id)
}

/** Returns true if a completion with these facts may have this id. `id`: a `cmp_…`. */
export function isOfferedCompletionId(sha256: Sha256, facts: OfferedCompletionFacts, id: string): boolean {
  const nonce = parseIdBytes('cmp', id).subarray(0, COMPLETION_NONCE_BYTES)
  return offeredCompletionId(sha256, facts, nonce) === id
}
