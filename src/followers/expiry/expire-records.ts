import type pg from 'pg'
import type { AppendOutcome } from '../../append/commit.ts'
import type { EntryRow } from '../../db/chain/append-entries.ts'
import { isUnavailable } from '../../db/connect/failures.ts'
import { listOverdue, type OverdueRecord } from '../../db/records/expiry-work.ts'
import { type GatedCase, type GatedRecordKey, readGatedCases } from '../../db/records/gated-cases.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import type { RecordState } from '../../proof/statement/kinds.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import type { Signers } from '../../signing/signers.ts'
import { agreedTime, type Clocks } from '../clocks.ts'
import { EXPIRIES_PER_ROUND } from '../limits.ts'
import type { RefusedItems } from '../refused.ts'
import { commitSteps, errorOf, hasMoved } from '../verification/commit-steps.ts'
import { signAsSystem } from '../verification/sign-verification.ts'
import { verifyCase } from '../verification/verify-case.ts'

export type ExpireDeps = Clocks & {
  readonly pool: pg.Pool
  readonly envelopeKeys: EnvelopeKeys
  readonly cursorMac: CursorMac
  readonly signers: Signers
  /** Records that could not be expired when this was last tried. */
  readonly refusedExpiries: RefusedItems
  readonly observeExpiry: () => void
  readonly log: { error(details: object, message: string): void }
}

/**
 * Makes rounds that expire records of all ledgers, page by page. A record expires if its deadline has passed without a
 * delivery. Each round returns true if there are more pages.
 *
 * The database's clock decides which records are overdue, and decides again when the entry is appended. In addition,
 * this machine's clock must not be more than CLOCK_BEHIND_MS_MAX before the deadline.
 *
 * An expired record is no longer overdue. So another worker can continue the work of a killed worker. If two workers
 * expire the same record, only the first changes something.
 */
export function makeExpiryRound(deps: ExpireDeps): () => Promise<boolean> {
  let last: OverdueRecord | null = null
  return async () => {
    const overdue = await listOverdue(deps.pool, last, EXPIRIES_PER_ROUND)
    last = overdue.length < EXPIRIES_PER_ROUND ? null : overdue.at(-1)!
    const due = overdue.filter((one) => !one.isBlocked && !deps.refusedExpiries.isPaused(nameOf(one)))
    if (due.length > 0) await expire(deps, due)
    return last !== null
  }
}

async function expire(deps: ExpireDeps, due: readonly GatedRecordKey[]): Promise<void> {
  const { cursorMac, envelopeKeys } = deps
  const cases = (await readGatedCases(deps.pool, { cursorMac, known: envelopeKeys.known }, due)).filter(
    (found) => found !== null && isOpen(found) && isOverdue(deps, found),
  )
  const signed: { readonly found: GatedCase; readonly entry: EntryRow }[] = []
  for (const found of cases as GatedCase[]) {
    try {
      signed.push({ found, entry: await signExpiry(deps, found) })
    } catch (error) {
      if (isUnavailable(error as Error)) throw error
      refuse(deps, found, error as Error)
    }
  }
  const outcomes = await commitSteps(
    deps.pool,
    signed.map(({ entry }) => [entry]),
  )
  for (const [i, { found }] of signed.entries()) settle(deps, found, outcomes[i]![0]!)
}

/**
 * Returns true if the record may expire now. The server signs an expiry without a request, as it signs a verdict. So
 * the follower must have verified the record's entries.
 */
function isOpen({ state, closed, isFaulty, isVerified }: GatedCase): boolean {
  return closed === null && !isFaulty && isVerified && (state === 'CREATED' || state === 'ACTIVE')
}

/**
 * Returns true if the deadline in the row has passed. signExpiry later compares this deadline with the signed deadline.
 */
function isOverdue(deps: ExpireDeps, { deadline }: GatedCase): boolean {
  return deadline !== null && deadline.getTime() <= agreedTime(deps)
}

/**
 * Signs the expiry. Throws ProofError if the deadline is not the one that was signed when the record was created, or if
 * the record's entries contradict its row.
 */
async function signExpiry(deps: ExpireDeps, found: GatedCase): Promise<EntryRow> {
  const signed = await verifyCase(deps.envelopeKeys, found)
  const deadline = found.deadline?.toISOString()
  const agreed = signed.created.predicate['deadline']
  if (agreed !== deadline)
    throw new ProofError(
      'columns_contradict_entries',
      `the database has the deadline ${deadline}, but ${agreed} was signed`,
    )
  const signer = await deps.signers.signerOf(found)
  return signAsSystem({ signer, nowMs: deps.now() }, found, signed, {
    kind: 'record-expired',
    version: signed.version + 1,
    from: signed.state as RecordState,
    to: 'EXPIRED',
    previous: signed.lastLeaf,
    subjects: [],
    document: null,
    predicate: {},
  }).entry
}

/**
 * Handles the outcome of an append. If the record or its ledger changed first, for example by a completion, another
 * worker, a new key or a closure, nothing is done. The next round then reads the record again.
 */
function settle(deps: ExpireDeps, found: GatedCase, outcome: AppendOutcome): void {
  if (outcome.status === 'appended') {
    deps.observeExpiry()
    deps.refusedExpiries.forget(nameOf(found))
  } else if (outcome.status === 'unavailable' || outcome.status === 'unknown') {
    throw outcome.error
  } else if (!hasMoved(outcome)) {
    refuse(deps, found, errorOf(outcome))
  }
}

function refuse(deps: ExpireDeps, { ledgerId, recordId }: GatedRecordKey, err: Error): void {
  const ids = { ledger: formatId('led', ledgerId), record: formatId('rec', recordId) }
  // A refused record is logged only once. Otherwise an attacker whose login can make such rows could fill the log.
  if (deps.refusedExpiries.refuse(nameOf({ ledgerId, recordId })))
    deps.log.error({ err, ...ids }, 'an overdue record could not be expired')
}

function nameOf({ ledgerId, recordId }: GatedRecordKey): string {
  return `${formatId('led', ledgerId)} ${formatId('rec', recordId)}`
}
