import { hash, randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import { translateConstraint } from '../../db/connect/constraints.ts'
import { acceptPeer, findPeer, invitePeer, type PeerRow, withdrawPeer } from '../../db/peers/peers.ts'
import { ApiError } from '../../errors.ts'
import { type AdministerDeps, administer } from '../../ledgers/administration.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { fromHex, toBase64Url, toHex } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { Entropy } from '../../signing/entropy.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import type { OpenInvitation, PeerMacs } from '../../signing/peer-macs.ts'
import type { Allowances } from '../connector/allowances.ts'
import { checkOutboundUrl } from '../connector/check-url.ts'
import { identityOf, parsePeerKey } from './identity.ts'
import { formatInvitation, type Invitation, parseInvitation } from './invitation.ts'
import { PEER_INVITATION_MS_MAX, PEER_INVITATIONS_OPEN_MAX, PEERS_PER_LEDGER_MAX } from './limits.ts'

export type PeeringDeps = AdministerDeps & {
  readonly readPool: pg.Pool
  readonly entropy: Entropy
  readonly publicUrl: string
  readonly sealer: Pick<MasterKey, 'seal'>
  readonly peerMacs: PeerMacs
  readonly outboundAllow: Allowances
}

const TOKEN_BYTES = 32

/**
 * Creates an invitation. The returned `invitation` must be shown only once, because whoever has it can become the peer.
 */
export async function invite(
  deps: PeeringDeps,
  caller: Caller,
  name: string,
): Promise<{ readonly peer: PeerRow; readonly invitation: string }> {
  const { ledgerId } = caller
  const inviter = await identityOf(deps.readPool, ledgerId, deps.publicUrl)
  const peerId = deps.entropy.uuidv7(deps.now())
  const token = randomBytes(TOKEN_BYTES)
  const row = {
    peerId,
    expiresAt: new Date(deps.now() + PEER_INVITATION_MS_MAX),
    inviter: canonicalize(inviter),
  }
  const limits = { openMax: PEER_INVITATIONS_OPEN_MAX, peersMax: PEERS_PER_LEDGER_MAX }
  const tokenHash = deps.peerMacs.invitation.of(openInvitation(ledgerId, row, token))
  const peer = { ...row, name, agentId: caller.agentId, tokenHash }
  if (!(await invitePeer(deps.readPool, ledgerId, peer, limits))) throw tooMany()
  const invitation = formatInvitation({ peer: formatId('peer', peerId), token: toBase64Url(token), inviter })
  return { peer: await getPeer(deps, caller, peerId), invitation }
}

/**
 * Accepts an invitation. The worker makes the handshake later, because only the worker sends requests to addresses that
 * tenants and peers name.
 */
export async function accept(
  deps: PeeringDeps,
  caller: Caller,
  name: string,
  text: string,
): Promise<PeerRow> {
  const { peer, token, inviter } = readInvitation(deps, caller, text)
  const { ledgerId } = caller
  const peerId = parseId('peer', peer)
  const made = await acceptPeer(
    deps.readPool,
    ledgerId,
    {
      peerId,
      name,
      agentId: caller.agentId,
      tokenHash: hash('sha256', token, 'buffer'),
      expiresAt: new Date(deps.now() + PEER_INVITATION_MS_MAX),
      sealedToken: deps.sealer.seal(token, tokenContext(ledgerId, peerId)),
      inviter: canonicalize(inviter),
      remoteLedgerId: parseId('led', inviter.ledger),
      remoteUrl: inviter.url,
      ownKid: fromHex(caller.envelopeKid),
    },
    PEERS_PER_LEDGER_MAX,
  ).catch(translateConstraint)
  if (!made) throw tooMany()
  return getPeer(deps, caller, peerId)
}

function readInvitation(
  deps: PeeringDeps,
  caller: Caller,
  text: string,
): Omit<Invitation, 'token'> & { token: Buffer } {
  const invitation = parseInvitation(text)
  if (invitation === null) throw invalidInvitation('the text is not an invitation, or is incomplete')
  const { inviter } = invitation
  try {
    if (parsePeerKey(inviter.envelopeKey).alg !== 'EdDSA')
      throw invalidInvitation('the key in the invitation cannot sign requests: only Ed25519 can')
  } catch (error) {
    if (error instanceof ProofError) throw invalidInvitation(error.message)
    throw error
  }
  if (inviter.ledger === caller.ledger)
    throw invalidInvitation('this ledger made the invitation: the other side must accept it')
  refusePeerUrl(inviter.url, deps.outboundAllow)
  return { ...invitation, token: Buffer.from(invitation.token, 'base64url') }
}

/**
 * Throws ApiError `url_refused` if the URL breaks the rules for a tenant's URL. Peers and tenants are equally
 * untrusted.
 */
export function refusePeerUrl(url: string, allowances: Allowances): void {
  // Paths are appended to the URL, so it may have no query and no slash at the end.
  if (/[?]|\/$/.test(url))
    throw new ApiError(
      'url_refused',
      `the peer's server, ${url}, is not a base URL: no query and no slash at the end`,
    )
  const checked = checkOutboundUrl(url, allowances)
  if (!checked.ok) throw new ApiError('url_refused', `the peer's server, ${url}: ${checked.detail}`)
}

function invalidInvitation(why: string): ApiError {
  return new ApiError('invalid_request', `/invitation: ${why}`, { members: { path: '/invitation' } })
}

/** Returns the fields of an invitation that its MAC covers. */
export function openInvitation(
  ledgerId: Uuid,
  { peerId, expiresAt, inviter }: Pick<PeerRow, 'peerId' | 'expiresAt' | 'inviter'>,
  token: Uint8Array,
): OpenInvitation {
  return {
    ledger: formatId('led', ledgerId),
    peer: formatId('peer', peerId),
    tokenHash: hash('sha256', token),
    expiresAtMs: expiresAt.getTime(),
    inviter,
  }
}

/** Returns the context under which the token is sealed between acceptance and handshake. */
export function tokenContext(ledgerId: Uuid, peerId: Uuid): string {
  return `peer token ${ledgerId} ${peerId}`.replaceAll('-', '')
}

type Change = 'suspended' | 'resumed' | 'revoked'

const FROM = {
  suspended: ['active'],
  resumed: ['suspended'],
  revoked: ['pending', 'active', 'suspended'],
} as const satisfies Record<Change, readonly PeerRow['state'][]>

/** Suspends, resumes or revokes a peering. Revoking is final. `code`: machine-readable reason. */
export async function changePeering(
  deps: PeeringDeps,
  caller: Caller,
  peerId: Uuid,
  request: { readonly change: Change; readonly code: string; readonly idempotency: IdempotencyRow | null },
): Promise<{ readonly peer: PeerRow; readonly replayed: boolean }> {
  const { change, code, idempotency } = request
  const peer = await getPeer(deps, caller, peerId)
  if (change === 'revoked' && peer.addedSeq === null) {
    await withdrawPeer(deps.readPool, caller.ledgerId, peerId)
    return { peer: await getPeer(deps, caller, peerId), replayed: false }
  }
  const from: readonly PeerRow['state'][] = FROM[change]
  // A request with an Idempotency-Key skips this check, because an earlier attempt of the same request may have
  // succeeded. The append then refuses a wrong state.
  const isLate = !from.includes(peer.state) && idempotency === null
  if (isLate || peer.handshake === null) throw wrongState(peer, change)
  const { replayed } = await administer(deps, caller, {
    kind: `peer-${change}`,
    subject: { id: peerId, name: formatId('peer', peerId), digest: toHex(peer.handshake) },
    predicate: { code },
    detail: {},
    idempotency,
  }).catch((error: Error) => {
    throw error instanceof ApiError && error.code === 'peer_not_active' ? wrongState(peer, change) : error
  })
  return { peer: await getPeer(deps, caller, peerId), replayed }
}

function wrongState({ state }: PeerRow, change: Change): ApiError {
  return new ApiError('state_conflict', `the peering is ${state}: it cannot be ${change}`)
}

export async function getPeer(
  { readPool }: { readonly readPool: pg.Pool },
  { ledgerId }: Pick<Caller, 'ledgerId'>,
  peerId: Uuid,
): Promise<PeerRow> {
  const peer = await findPeer(readPool, ledgerId, peerId)
  if (!peer) throw new ApiError('not_found', `the ledger has no peer ${formatId('peer', peerId)}`)
  return peer
}

function tooMany(): ApiError {
  return new ApiError(
    'state_conflict',
    `the ledger has ${PEERS_PER_LEDGER_MAX} peers or ${PEER_INVITATIONS_OPEN_MAX} unused invitations, the most allowed: revoke some`,
  )
}
