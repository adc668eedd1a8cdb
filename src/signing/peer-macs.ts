import type { MasterKey } from './master-key.ts'

/** A key of another ledger, as a peering of this one holds it. Ids as text, `kid` in hex, `spki` in base64. */
export type NamedPeerKey = {
  readonly ledger: string
  readonly peer: string
  readonly kid: string
  readonly alg: string
  readonly spki: string
}

/** An invitation, as the inviter's ledger holds it. `tokenHash` in hex, `inviter`: canonical JSON. */
export type OpenInvitation = {
  readonly ledger: string
  readonly peer: string
  readonly tokenHash: string
  readonly expiresAtMs: number
  readonly inviter: string
}

/**
 * Authenticates rows that make somebody a peer, or speak for one, as KeyMac does those of API keys: rows come from a database that
 * others can write to. Invitations have theirs in the place of the token's hash.
 */
export type PeerMacs = {
  ofKey(key: NamedPeerKey): Buffer
  /** Whether a server has made the row as it is; null: a row that has no MAC. */
  isOfKey(key: NamedPeerKey, mac: Uint8Array | null): boolean
  ofInvitation(invitation: OpenInvitation): Buffer
  isOfInvitation(invitation: OpenInvitation, mac: Uint8Array): boolean
}

export function makePeerMacs(masterKey: Pick<MasterKey, 'mac' | 'isMac'>): PeerMacs {
  return {
    ofKey: (key) => masterKey.mac(textOfKey(key), KEY_CONTEXT),
    isOfKey: (key, mac) => mac !== null && masterKey.isMac(mac, textOfKey(key), KEY_CONTEXT),
    ofInvitation: (invitation) => masterKey.mac(textOfInvitation(invitation), INVITATION_CONTEXT),
    isOfInvitation: (invitation, mac) =>
      masterKey.isMac(mac, textOfInvitation(invitation), INVITATION_CONTEXT),
  }
}

const KEY_CONTEXT = 'peer key'
const INVITATION_CONTEXT = 'peer invitation'

function textOfKey({ ledger, peer, kid, alg, spki }: NamedPeerKey): string {
  return JSON.stringify([ledger, peer, kid, alg, spki])
}

function textOfInvitation({ ledger, peer, tokenHash, expiresAtMs, inviter }: OpenInvitation): string {
  return JSON.stringify([ledger, peer, tokenHash, expiresAtMs, inviter])
}
