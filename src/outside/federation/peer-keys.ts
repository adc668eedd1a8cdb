import type { Db } from '../../db/connect/client.ts'
import { findContact, type PeerContact, type PeerKeyRow } from '../../db/peers/peers.ts'
import { toBase64 } from '../../proof/bytes.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'

type PeeringKey = { readonly ledgerId: Uuid; readonly peerId: Uuid }

type MacDeps = { readonly peerMacs: PeerMacs }

/** Finds a peering like findContact, but without the keys that `authenticContact` removes. */
export async function findAuthenticContact(
  deps: MacDeps,
  db: Db,
  of: PeeringKey & { readonly remoteLedgerId: Uuid },
): Promise<PeerContact | null> {
  const contact = await findContact(db, of)
  return contact && authenticContact(deps, of, contact)
}

/**
 * Removes those keys of the contact whose MAC was not made by a server of this deployment. An attacker who can write to
 * the database but has no master key can remove a peer's key, but cannot replace it.
 */
export function authenticContact({ peerMacs }: MacDeps, of: PeeringKey, contact: PeerContact): PeerContact {
  return { ...contact, keys: authenticKeys(peerMacs, of, contact.keys) }
}

export function authenticKeys(
  macs: PeerMacs,
  { ledgerId, peerId }: PeeringKey,
  keys: readonly PeerKeyRow[],
): PeerKeyRow[] {
  const [ledger, peer] = [formatId('led', ledgerId), formatId('peer', peerId)]
  return keys.filter(({ kid, alg, spki, mac }) =>
    macs.key.isOf({ ledger, peer, kid, alg, spki: toBase64(spki) }, mac),
  )
}
