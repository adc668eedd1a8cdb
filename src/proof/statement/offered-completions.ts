import { concat, utf8Encode } from '../bytes.ts'
import type { Sha256 } from '../crypto.ts'
import { formatIdBytes, ID_BYTES, parseIdBytes } from '../ids.ts'

/**
 * Facts that an offered completion's id is bound to. `ledger`: the guest; `digest`: that of the evidence, lower-case
 * hex.
 */
export type OfferedCompletionPlace = {
  readonly ledger: string
  readonly record: string
  /** Version that the record would have. */
  readonly version: number
  readonly digest: string
}

const DOMAIN = 'tallystick-offered-completion-v1'
export const COMPLETION_NONCE_BYTES = 4
const [VERSION_BYTE, VARIANT_BYTE] = [6, 8]

/**
 * The id (`cmp_…`) of a completion that is offered (docs/formats/federation.md). A guest makes it, and the home's chain takes it over:
 * so it is one that no ledger can have already, or a guest could make its home's export one that nobody verifies. It has version 8 (RFC
 * 9562 §5.8), where a ledger's own ids are of version 7; and what follows the nonce is a hash of where it belongs.
 */
export function offeredCompletionId(
  sha256: Sha256,
  place: OfferedCompletionPlace,
  nonce: Uint8Array,
): string {
  const { ledger, record, version, digest } = place
  const text = [DOMAIN, ledger, record, version, digest].join('\0')
  const hash = sha256(concat([utf8Encode(`${text}\0`), nonce]))
  const id = concat([nonce, hash.subarray(0, ID_BYTES - COMPLETION_NONCE_BYTES)])
  id[VERSION_BYTE] = (id[VERSION_BYTE]! & 0x0f) | 0x80
  id[VARIANT_BYTE] = (id[VARIANT_BYTE]! & 0x3f) | 0x80
  return formatIdBytes('cmp', id)
}

/** Whether the id is one that this completion may have. `id`: a `cmp_…`. */
export function isOfferedCompletionId(sha256: Sha256, place: OfferedCompletionPlace, id: string): boolean {
  const nonce = parseIdBytes('cmp', id).subarray(0, COMPLETION_NONCE_BYTES)
  return offeredCompletionId(sha256, place, nonce) === id
}
