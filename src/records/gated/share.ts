import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import type { Db } from '../../db/connect/client.ts'
import { listSharePeers, type SharePeer } from '../../db/peers/shares.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { fromBase64Url } from '../../proof/bytes.ts'
import { formatId, isId, parseId, type Uuid } from '../../proof/ids.ts'
import { SALT_DISTINCT_BYTES_MIN } from '../limits.ts'
import { findFirstOutcome } from '../write/first-outcome.ts'

/** Contents that a peer gets. `whole`: entries and documents. `digests`: entries only. */
type SharedDocuments = 'whole' | 'digests'

export type ShareRequest = readonly { readonly peer: string; readonly documents: SharedDocuments }[]

export type SharedWith = {
  readonly peer: string
  readonly peerId: Uuid
  readonly documents: SharedDocuments
  /** Id of the peer's ledger, `led_…`. */
  readonly ledger: string
}

/**
 * Returns the peers in the form in which they are signed, sorted by peer. Returns null if the record is not shared.
 * Throws `invalid_request`, `unknown_peer` or `peer_not_active`.
 *
 * If an earlier try of the same request succeeded, a peering that has ended since is accepted, because a retry gets the
 * answer to the first try.
 */
export async function resolveShare(
  deps: { readonly readPool: Db },
  caller: Caller,
  request: ShareRequest | undefined,
  idempotency: IdempotencyRow | null,
): Promise<readonly SharedWith[] | null> {
  if (request === undefined) return null
  for (const [i, { peer }] of request.entries()) {
    if (request.findIndex((other) => other.peer === peer) < i)
      throw new ApiError('invalid_request', `/share: ${peer} is named twice`, { members: at(i) })
  }
  const ids = request.flatMap(({ peer }) => (isId('peer', peer) ? [parseId('peer', peer)] : []))
  const found = await listSharePeers(deps.readPool, caller.ledgerId, ids)
  const hasEnded = found.some(({ state }) => state === 'revoked')
  const isRepeated = hasEnded && (await findFirstOutcome(deps, caller, idempotency)) !== null
  const peers = new Map(found.map((peer) => [peer.peerId, peer]))
  const share = request.map(({ peer, documents }, i) => {
    const known = isId('peer', peer) ? peers.get(parseId('peer', peer)) : undefined
    return { peer, documents, ...requireLiving(known, peer, i, isRepeated) }
  })
  return share.sort((a, b) => (a.peer < b.peer ? -1 : 1))
}

/**
 * Throws if the peering is neither active nor suspended. If the peering is suspended, shared entries wait until it is
 * resumed. `isRepeated`: true if the same request succeeded before. Then an ended peering is accepted too.
 */
function requireLiving(
  known: SharePeer | undefined,
  peer: string,
  i: number,
  isRepeated: boolean,
): Pick<SharedWith, 'peerId' | 'ledger'> {
  if (!known) throw new ApiError('unknown_peer', `the ledger has no peer ${peer}`, { members: at(i) })
  const { state, peerId, remoteLedgerId } = known
  const isLiving = state === 'active' || state === 'suspended'
  if ((isLiving || isRepeated) && remoteLedgerId) return { peerId, ledger: formatId('led', remoteLedgerId) }
  throw new ApiError('peer_not_active', `${peer} is ${state}`, { members: at(i) })
}

function at(i: number): { readonly path: string } {
  return { path: `/share/${i}/peer` }
}

/**
 * Returns the share for the predicate of the statement. The next function, `shareDetail`, returns the share for the
 * entry's detail (migrations/functions/append-federation.sql).
 */
export function sharePredicate(share: readonly SharedWith[]) {
  return share.map(({ peer, documents }) => ({ peer, documents }))
}
export function shareDetail(share: readonly SharedWith[]) {
  return share.map(({ peerId, documents }) => ({ peerId, documents }))
}

/** Returns true if some peer gets only the digests of documents. */
export function isDigestsOnly(share: readonly { readonly documents: SharedDocuments }[] | null): boolean {
  return share?.some(({ documents }) => documents === 'digests') ?? false
}

/**
 * Throws `weak_salt` if the salt can be guessed. Many documents are short, so anybody with a digest and its salt can
 * try documents until one matches. `salt`: the caller's salt in base64url, or undefined if the server makes the salt.
 */
export function refuseWeakSalt(salt: string | undefined): void {
  if (salt === undefined || !isWeakSalt(fromBase64Url(salt))) return
  throw new ApiError('weak_salt', `/salt has fewer than ${SALT_DISTINCT_BYTES_MIN} different bytes`, {
    members: { path: '/salt' },
  })
}

export function isWeakSalt(salt: Uint8Array): boolean {
  return new Set(salt).size < SALT_DISTINCT_BYTES_MIN
}
