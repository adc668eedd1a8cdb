import type pg from 'pg'
import { commitBatch } from '../../append/commit.ts'
import { type Author, sealEntry } from '../../append/entry.ts'
import type { DrainedPeer } from '../../db/peers/peer-leases.ts'
import { fromBase64 } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'
import type { Signers } from '../../signing/signers.ts'
import { handshakeOf, peerAdded, verifyCounterpart } from './handshake.ts'
import { type Handshake, type Identity, identityOf } from './identity.ts'
import { tokenContext } from './peerings.ts'
import { PeerError } from './post.ts'

export type ShakeHandsDeps = {
  readonly pool: pg.Pool
  readonly signers: Signers
  readonly masterKey: Pick<MasterKey, 'open'>
  readonly peerMacs: PeerMacs
  readonly publicUrl: string
  readonly now: () => number
}

/**
 * Makes the handshake for the invited side. Sends the token, gets the inviter's signed entry, and appends an entry of
 * our own that names the inviter's entry. Throws PeerError. A repeated attempt sends the same request and gets the same
 * answer.
 */
export async function shakeHands(
  deps: ShakeHandsDeps,
  peer: DrainedPeer,
  post: (path: string, body: string) => Promise<JsonObject>,
): Promise<void> {
  const token = openToken(deps, peer)
  const invited = await identityOf(deps.pool, peer.ledgerId, deps.publicUrl)
  const inviter = JSON.parse(peer.inviter) as Identity
  const handshake = handshakeOf(peer.peerId, token, inviter, invited)
  const body = canonicalize({ peer: handshake.peer, token: token.toString('base64url'), invited })
  const { envelope } = await post('/v1/federation/peerings', body)
  const counterpart = readCounterpart(envelope, handshake)
  const author: Author = {
    ledger: invited.ledger,
    ledgerId: peer.ledgerId,
    issuer: peer.issuer,
    envelopeKid: peer.envelopeKid,
    agent: 'system',
  }
  const signer = await deps.signers.signerOf(author)
  const about = peerAdded(deps, peer.peerId, handshake, { remote: inviter, own: invited, counterpart })
  const { entry } = sealEntry(signer, author, about, deps.now())
  const [outcome] = await commitBatch(deps.pool, [entry])
  if (outcome!.status !== 'appended')
    throw new PeerError('not_appended', `this ledger’s own entry was not appended: ${outcome!.status}`)
}

function openToken({ masterKey }: ShakeHandsDeps, { ledgerId, peerId, sealedToken }: DrainedPeer): Buffer {
  try {
    return masterKey.open(sealedToken!, tokenContext(ledgerId, peerId))
  } catch {
    throw new PeerError(
      'token_unreadable',
      'the master key was replaced after the invitation was accepted: ask for another invitation',
    )
  }
}

function readCounterpart(envelope: unknown, handshake: Handshake): string {
  try {
    return verifyCounterpart(fromBase64(typeof envelope === 'string' ? envelope : ''), handshake)
  } catch (error) {
    if (error instanceof ProofError) throw new PeerError('handshake_mismatch', error.message)
    throw error
  }
}
