import type pg from 'pg'
import type { Author } from '../../append/entry.ts'
import type { AppendAnswer } from '../../db/chain/append-entries.ts'
import { constraintOf, translateConstraint } from '../../db/connect/constraints.ts'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import type { PeerContact } from '../../db/peers/peers.ts'
import { beginPeerRequest } from '../../db/peers/received.ts'
import { ApiError } from '../../errors.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'
import { type PeerRequest, refuseState } from './authenticate.ts'
import { findAuthenticContact } from './peer-keys.ts'

export type PeerTransactionDeps = { readonly writePool: pg.Pool; readonly peerMacs: PeerMacs }

/**
 * Runs `work` in a transaction that locks the peering. Each nonce is accepted once. `work` gets the peering as the
 * transaction reads it. Throws ApiError, and the errors of `work`.
 */
export async function inTransaction<T>(
  deps: PeerTransactionDeps,
  request: PeerRequest,
  work: (client: pg.PoolClient, contact: PeerContact) => Promise<T>,
): Promise<T> {
  try {
    return await withPooledTransaction(deps.writePool, async (client) => {
      const isFresh = await beginPeerRequest(client, request, request.nonce)
      if (!isFresh)
        throw new ApiError('request_replayed', 'the nonce of the request was used before', {
          retryable: true,
        })
      const contact = await findAuthenticContact(deps, client, request)
      if (contact === null || currentKid(contact) !== currentKid(request.contact))
        throw new ApiError('key_not_current', 'the peer has replaced its key meanwhile', { retryable: true })
      return work(client, contact)
    })
  } catch (error) {
    // A violation of the constraint `peers_state` means that the peering has changed since the request's headers were
    // checked.
    if (constraintOf(error) !== 'peers_state') translateConstraint(error)
    const contact = await findAuthenticContact(deps, deps.writePool, request)
    if (contact) refuseState(contact)
    throw new ApiError('state_conflict', 'the handshake of the peering is not complete')
  }
}

function currentKid(contact: PeerContact | null): string | undefined {
  return contact?.keys.find(({ untilSeq }) => untilSeq === null)?.kid
}

/** Returns the author of entries about a peer's request. The author is the ledger itself. */
export function authorOf({ ledger, ledgerId, contact }: Omit<PeerRequest, 'nonce'>): Author {
  return { ledger, ledgerId, issuer: contact.issuer, envelopeKid: contact.envelopeKid, agent: 'system' }
}

/** Returns true if the outcome means that the ledger refuses all entries. */
export function isOfLedger(outcome: AppendAnswer['outcome']): boolean {
  return outcome === 'refused_frozen' || outcome === 'refused_closed'
}

/**
 * Returns the error for entries that were not appended. Throwing it rolls the transaction back, so that the peer can
 * send everything again.
 */
export function notAppended(outcome: AppendAnswer['outcome']): ApiError {
  if (outcome === 'refused_frozen')
    return new ApiError('peer_suspended', 'the operator has frozen this ledger', WAIT_FOR_OPERATOR)
  if (outcome === 'refused_closed')
    return new ApiError(
      'ledger_closed',
      'the ledger is closed until the operator acknowledges a restored backup',
      WAIT_FOR_OPERATOR,
    )
  // The ledger's key was replaced, or the clocks differ. The next attempt reads key and time again.
  return unavailable(`nothing was written (${outcome})`)
}

const WAIT_FOR_OPERATOR = { retryable: true, retryAfterMs: 60_000 } as const

export function unavailable(why: string): ApiError {
  return new ApiError('unavailable', `${why}: try again`, { retryable: true, retryAfterMs: 1_000 })
}
