import type { Signer } from '../proof/crypto.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import type { MasterKey } from './master-key.ts'
import { makeEd25519Signer, nativeProviders } from './native.ts'

type Peering = { readonly ledgerId: Uuid; readonly peerId: Uuid }

/**
 * Keys with which a ledger cosigns the checkpoints of its peers.
 *
 * Each peering has its own key, so that a witness stores one newest checkpoint for each key. A peer may send a
 * checkpoint with another peer's origin. Its own peering's key then cosigns the checkpoint, and this cosignature does
 * not count for the other peer.
 */
export type PeerWitnessKeys = { of(peering: Peering): Signer }

/** Derives the keys from the master key. So all servers have the same keys, and the keys need not be stored. */
export function makePeerWitnessKeys(masterKey: Pick<MasterKey, 'mac'>): PeerWitnessKeys {
  return {
    of({ ledgerId, peerId }) {
      const text = JSON.stringify([formatId('led', ledgerId), formatId('peer', peerId)])
      return makeEd25519Signer(nativeProviders.sha256, masterKey.mac(text, 'peer witness'), 'plain')
    },
  }
}
