import type { Db } from '../../db/connect/client.ts'
import { findContact, type PeerContact, type PeerKeyRow } from '../../db/peers/peers.ts'
import { toBase64 } from '../../proof/bytes.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'

type Of = { readonly ledgerId: Uuid; readonly peerId: Uuid }

type MacDeps = { readonly peerMacs: PeerMacs }

/** Finds a peering like findContact, with only the keys that pass `believedContact`. */
export async function findBelievedContact(
  deps: MacDeps,
  db: Db,
  of: Of & { readonly remoteLedgerId: Uuid },
): Promise<PeerContact | null> {
  const contact = await findContact(db, of)
  return contact && believedContact(deps, of, contact)
}

/**
 * Removes keys of the contact that no server of this deployment stored, by their MAC. An attacker who can write to
 * the database but has no master key can remove a peer's key, but cannot replace it.
 */
export function believedContact({ peerMacs }: MacDeps, of: Of, contact: PeerContact): PeerContact {
  return { ...contact, keys: believedKeys(peerMacs, of, contact.keys) }
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
