import type { Author } from '../append/entry.ts'
import { findLedgerSummary, type LedgerSummaryRow, setLedgerFrozen } from '../db/ledgers/ledgers.ts'
import { findEnvelopeKid } from '../db/schema/server-keys.ts'
import { ApiError } from '../errors.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import { administer } from './administration.ts'
import { ensureAgent } from './agents.ts'
import type { KeyDeps } from './keys.ts'
import { makeKey, type NewKey } from './new-key.ts'
import { SCOPES } from './scopes.ts'

/* The functions in this file are for the operator. Entries that they append have the actor `system`. */

export async function getLedgerSummary(deps: KeyDeps, ledgerId: Uuid): Promise<LedgerSummaryRow> {
  const summary = await findLedgerSummary(deps.readPool, ledgerId)
  if (!summary) throw new ApiError('not_found', `there is no ledger ${formatId('led', ledgerId)}`)
  return summary
}

/** Freezes or unfreezes a ledger. A frozen ledger can be read but accepts no entries. */
export async function setFrozen(deps: KeyDeps, ledgerId: Uuid, frozen: boolean): Promise<LedgerSummaryRow> {
  await setLedgerFrozen(deps.readPool, ledgerId, frozen)
  const summary = await getLedgerSummary(deps, ledgerId)
  if (summary.closed === 'restored') {
    throw new ApiError(
      'ledger_closed',
      'the ledger is closed as restored: acknowledge the restored backup first',
    )
  }
  return summary
}

/**
 * Makes a key with all scopes for a ledger whose keys are lost. The key belongs to the agent `agentName`, which is
 * registered if it does not exist. The lost keys stay valid. They should be revoked with the new key.
 */
export async function reissueKey(
  deps: KeyDeps,
  ledgerId: Uuid,
  request: { readonly name: string; readonly agentName: string },
): Promise<NewKey> {
  const author = await systemAuthor(deps, ledgerId)
  const { agentId } = await ensureAgent(deps, author, request.agentName)
  const { made, claims } = makeKey(deps.keyMac, {
    ledger: author.ledger,
    ledgerId,
    keyId: deps.entropy.uuidv7(deps.now()),
    agent: formatId('agt', agentId),
    agentId,
    name: request.name,
    scopes: SCOPES,
    expiresAtMs: null,
  })
  await administer(deps, author, claims)
  return made
}

/** Returns the author for entries that the operator causes. Their agent is `system`. */
export async function systemAuthor(deps: KeyDeps, ledgerId: Uuid): Promise<Author> {
  const { issuer } = await getLedgerSummary(deps, ledgerId)
  const envelopeKid = (await findEnvelopeKid(deps.readPool, ledgerId))!
  return { ledger: formatId('led', ledgerId), ledgerId, issuer, envelopeKid, agent: 'system' }
}
