import type { Uuid } from '../proof/ids.ts'
import { type MacKey, makeRowMac, type RowMac } from './row-mac.ts'
import { toHex } from './text-of-bytes.ts'

/** Position up to which the follower has verified a ledger, with the values that the next entry must continue. */
export type CursorPosition = {
  readonly nextSeq: number
  readonly chain: Uint8Array
  readonly envelopeKid: Uint8Array
  /** Digest of the agents' signing keys after the verified entries (LedgerAgentKeys); null if no agent had a key. */
  readonly agentKeys: Uint8Array | null
}

/**
 * Authenticates the audit follower's cursors. A settlement signal is sent only for an entry below the cursor, and an
 * attacker with the worker's database login can write cursors. An older cursor of the same ledger has a valid MAC too.
 * Its only effect is that entries are verified twice.
 */
export type CursorMac = RowMac<CursorPosition & { readonly ledgerId: Uuid }>

export function makeCursorMac(masterKey: MacKey): CursorMac {
  return makeRowMac(masterKey, 'audit cursor', ({ ledgerId, nextSeq, chain, envelopeKid, agentKeys }) =>
    JSON.stringify([
      ledgerId.replaceAll('-', ''),
      nextSeq,
      toHex(chain),
      toHex(envelopeKid),
      agentKeys && toHex(agentKeys),
    ]),
  )
}
