import type { Db } from '../../db/connect/client.ts'
import { findContact, type PeerContact, type PeerKeyRow } from '../../db/peers/peers.ts'
import { toBase64 } from '../../proof/bytes.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'

type Of = { readonly ledgerId: Uuid; readonly peerId: Uuid }

/**
 * As findContact, with the keys alone that a server made. Anybody who can write to the database, and has no master key, can so take a
 * peer's key away, and put no other one in its place.
 */
export async function findBelievedContact(
  { peerMacs }: { readonly peerMacs: PeerMacs },
  db: Db,
  of: Of & { readonly remoteLedgerId: Uuid },
): Promise<PeerContact | null> {
  const contact = await findContact(db, of)
  return contact && { ...contact, keys: believedKeys(peerMacs, of, contact.keys) }
}

export function believedKeys(
  macs: PeerMacs,
  { ledgerId, peerId }: Of,
  keys: readonly PeerKeyRow[],
): PeerKeyRow[] {
  const [ledger, peer] = [formatId('led', ledgerId), formatId('peer', peerId)]
  return keys.filter(({ kid, alg, spki, mac }) =>
    macs.key.isOf({ ledger, peer, kid, alg, spki: toBase64(spki) }, mac),
  )
}
