import type { Uuid } from '../proof/ids.ts'
import type { MasterKey } from './master-key.ts'

/** How far a ledger's entries were verified as they came, and what the next one must continue. */
export type CursorPlace = {
  readonly nextSeq: number
  readonly chain: Uint8Array
  readonly envelopeKid: Uint8Array
}

/**
 * Authenticates the follower's cursors: money moves below them, and the worker's database login can write their rows. An older
 * row of the same ledger verifies as well; it only has entries verified twice.
 */
export type CursorMac = {
  of(ledgerId: Uuid, place: CursorPlace): Buffer
  /** Whether a worker has made the row as it is. */
  isOf(ledgerId: Uuid, place: CursorPlace, mac: Uint8Array): boolean
}

export function makeCursorMac(masterKey: Pick<MasterKey, 'mac' | 'isMac'>): CursorMac {
  return {
    of: (ledgerId, place) => masterKey.mac(textOf(ledgerId, place), MAC_CONTEXT),
    isOf: (ledgerId, place, mac) => masterKey.isMac(mac, textOf(ledgerId, place), MAC_CONTEXT),
  }
}

const MAC_CONTEXT = 'audit cursor'

function textOf(ledgerId: Uuid, { nextSeq, chain, envelopeKid }: CursorPlace): string {
  return JSON.stringify([ledgerId.replaceAll('-', ''), nextSeq, hex(chain), hex(envelopeKid)])
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
