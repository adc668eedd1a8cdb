import { hash } from 'node:crypto'
import type pg from 'pg'
import type { Author } from '../../append/entry.ts'
import { findPeer, getSelf, type PeerRow } from '../../db/peers/peers.ts'
import { readEntryEnvelope } from '../../db/peers/shared-entries.ts'
import { ApiError } from '../../errors.ts'
import { type Administration, administer } from '../../ledgers/administration.ts'
import { toBase64, toHex } from '../../proof/bytes.ts'
import { verifySignedStatement } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import { isIdentity } from '../../proof/statement/federation-fields.ts'
import { leafHash } from '../../proof/tree/merkle.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'
import { type PeerAuthDeps, verifyFresh, verifySigned } from './authenticate.ts'
import type { RequestSignature } from './http-signature.ts'
import { type Handshake, handshakeDigest, type Identity, parsePeerKey } from './identity.ts'
import { openInvitation, type PeeringDeps, refusePeerUrl } from './peerings.ts'

type Introduction = { readonly peer: string; readonly token: string; readonly invited: Identity }

type IntroductionDeps = PeeringDeps & PeerAuthDeps & { readonly readPool: pg.Pool }

/**
 * Handles the request of the invited side. Whoever sends the token becomes the peer. Returns the envelope (base64) of
 * our `peer-added`. A repeated request gets the same answer. Throws ApiError.
 */
export async function introduce(
  deps: IntroductionDeps,
  signed: RequestSignature,
  { peer, token, invited }: Introduction,
): Promise<{ readonly envelope: string }> {
  if (signed.peering !== peer || signed.from !== invited.ledger)
    throw new ApiError('peer_unknown', 'the headers and the body of the request name different peers')
  // The identity is written into our chain, so a verifier must accept it. An invalid identity would make our chain
  // unverifiable.
  if (!isIdentity(invited as JsonObject))
    throw new ApiError('invalid_request', '/invited is not a valid identity of a ledger', {
      members: { path: '/invited' },
    })
  const key = keyOf(invited)
  verifyFresh(deps, signed)
  verifySigned(signed, key)
  const ledgerId = parseId('led', signed.to)
  const row = await findPeer(deps.readPool, ledgerId, parseId('peer', peer))
  const bytes = Buffer.from(token, 'base64url')
  const isMade =
    row?.role === 'inviter' &&
    deps.peerMacs.invitation.isOf(openInvitation(ledgerId, row, bytes), row.tokenHash)
  if (!isMade) throw new ApiError('token_invalid', 'this ledger did not make this invitation')
  if (row.state !== 'invited') return answerAgain(deps, ledgerId, row, invited)
  if (row.expiresAt.getTime() <= deps.now())
    throw new ApiError('token_invalid', `the invitation expired at ${row.expiresAt.toISOString()}`)
  refusePeerUrl(invited.url, deps.outboundAllow)
  await addPeer(deps, ledgerId, row, bytes, invited)
  const added = await findPeer(deps.readPool, ledgerId, row.peerId)
  return answerAgain(deps, ledgerId, added!, invited)
}

function keyOf({ envelopeKey }: Identity) {
  try {
    return parsePeerKey(envelopeKey)
  } catch (error) {
    if (error instanceof ProofError) throw new ApiError('key_unknown', error.message)
    throw error
  }
}

/**
 * Returns the answer to the invited side. A repeated request gets the same answer, because the first answer may have
 * been lost. Throws ApiError if another ledger used the invitation, or if the invitation was withdrawn or the peering
 * revoked.
 */
async function answerAgain(
  { readPool }: Pick<IntroductionDeps, 'readPool'>,
  ledgerId: Uuid,
  row: PeerRow,
  invited: Identity,
): Promise<{ readonly envelope: string }> {
  if (row.addedSeq === null || row.invited !== canonicalize(invited))
    throw new ApiError('token_used', 'the invitation was used by another ledger, or withdrawn')
  if (row.state === 'revoked') throw new ApiError('peer_revoked', 'the peering was revoked')
  return { envelope: toBase64(await readEntryEnvelope(readPool, ledgerId, row.addedSeq)) }
}

async function addPeer(
  deps: IntroductionDeps,
  ledgerId: Uuid,
  row: PeerRow,
  token: Uint8Array,
  invited: Identity,
): Promise<void> {
  const inviter = JSON.parse(row.inviter) as Identity
  if (invited.ledger === inviter.ledger)
    throw new ApiError('peer_exists', 'a ledger cannot be a peer of itself')
  const self = await getSelf(deps.readPool, ledgerId)
  // Our current key must be the one in the invitation, because the invited side trusts that key.
  if (self.envelopeKid !== inviter.envelopeKey.kid)
    throw new ApiError(
      'token_invalid',
      'the inviter has replaced its key since the invitation: ask for another invitation',
    )
  const author: Author = {
    ledger: inviter.ledger,
    ledgerId,
    issuer: self.issuer,
    envelopeKid: self.envelopeKid,
    agent: 'system',
  }
  const handshake = handshakeOf(row.peerId, token, inviter, invited)
  const about = peerAdded(deps, row.peerId, handshake, {
    remote: invited,
    own: inviter,
    counterpart: null,
  })
  await administer(deps, author, about).catch((error: Error) => {
    // If two requests arrive at the same time, the second one is answered like a repeated request.
    if (!(error instanceof ApiError && error.code === 'peer_not_active')) throw error
  })
}

export function handshakeOf(
  peerId: Uuid,
  token: Uint8Array,
  inviter: Identity,
  invited: Identity,
): Handshake {
  return { peer: formatId('peer', peerId), tokenHash: hash('sha256', token), inviter, invited }
}

/**
 * Builds the `peer-added` entry. `counterpart`: the leaf (hex) of the inviter's entry if this is the invited side's
 * entry. null if this is the inviter's entry.
 */
export function peerAdded(
  { peerMacs }: { readonly peerMacs: PeerMacs },
  peerId: Uuid,
  { peer, ...handshake }: Handshake,
  {
    remote,
    own,
    counterpart,
  }: { readonly remote: Identity; readonly own: Identity; readonly counterpart: string | null },
): Administration {
  const digest = handshakeDigest({ peer, ...handshake })
  return {
    kind: 'peer-added',
    subject: { id: peerId, name: peer, digest },
    predicate: { ...handshake, ...(counterpart !== null && { counterpart }) },
    detail: {
      invited: canonicalize(handshake.invited),
      remoteLedgerId: parseId('led', remote.ledger),
      remoteUrl: remote.url,
      handshake: digest,
      counterpart,
      ...remote.envelopeKey,
      mac: peerMacs.key.of({ ledger: own.ledger, peer, ...remote.envelopeKey }).toString('hex'),
      ownKid: own.envelopeKey.kid,
    },
  }
}

/**
 * Returns the leaf (hex) of the inviter's `peer-added`. Throws ProofError if the invitation's key did not sign the
 * entry, or if the entry is about another handshake.
 */
export function verifyCounterpart(envelope: Uint8Array, handshake: Handshake): string {
  const key = parsePeerKey(handshake.inviter.envelopeKey)
  const find = (kid: string) => (kid === handshake.inviter.envelopeKey.kid ? key : null)
  const { statement } = verifySignedStatement(envelope, find, nativeProviders)
  const { kind, ledger, subjects } = statement
  const isThis =
    kind === 'peer-added' &&
    ledger === handshake.inviter.ledger &&
    subjects[0].name === handshake.peer &&
    subjects[0].sha256 === handshakeDigest(handshake)
  if (!isThis)
    throw new ProofError('statement_subject', 'the answer of the inviter is about another handshake')
  return toHex(leafHash(nativeProviders.sha256, envelope))
}
