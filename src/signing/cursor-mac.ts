import type { Uuid } from '../proof/ids.ts'
import { type MacKey, makeRowMac, type RowMac } from './row-mac.ts'
import { toHex } from './text-of-bytes.ts'

/** How far a ledger's entries were verified as they came, and what the next one must continue. */
export type CursorPlace = {
  readonly nextSeq: number
  readonly chain: Uint8Array
  readonly envelopeKid: Uint8Array
  /** Digest of the keys by which agents sign, as the entries before left them (LedgerAgentKeys); null: there was never one. */
  readonly agentKeys: Uint8Array | null
}

/**
 * Authenticates the follower's cursors: money moves below them, and the worker's database login can write their rows. An older
 * row of the same ledger verifies as well; it only has entries verified twice.
 */
export type CursorMac = RowMac<CursorPlace & { readonly ledgerId: Uuid }>

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
