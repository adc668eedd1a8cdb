import { type MacKey, makeRowMac, type RowMac } from './row-mac.ts'

/** A key of a peer, as a peering of this ledger stores it. Ids are text, `kid` is hex, `spki` is base64. */
export type NamedPeerKey = {
  readonly ledger: string
  readonly peer: string
  readonly kid: string
  readonly alg: string
  readonly spki: string
}

/** An invitation, as the inviter's ledger stores it. `tokenHash` is hex, `inviter` is canonical JSON. */
export type OpenInvitation = {
  readonly ledger: string
  readonly peer: string
  readonly tokenHash: string
  readonly expiresAtMs: number
  readonly inviter: string
}

/**
 * Authenticates two kinds of rows: keys of peers, and invitations, with which a ledger becomes a peer. KeyMac does the
 * same for API keys. An invitation's MAC is stored in place of the token's hash.
 */
export type PeerMacs = { readonly key: RowMac<NamedPeerKey>; readonly invitation: RowMac<OpenInvitation> }

export function makePeerMacs(masterKey: MacKey): PeerMacs {
  return {
    key: makeRowMac(masterKey, 'peer key', ({ ledger, peer, kid, alg, spki }) =>
      JSON.stringify([ledger, peer, kid, alg, spki]),
    ),
    invitation: makeRowMac(
      masterKey,
      'peer invitation',
      ({ ledger, peer, tokenHash, expiresAtMs, inviter }) =>
        JSON.stringify([ledger, peer, tokenHash, expiresAtMs, inviter]),
    ),
  }
}
