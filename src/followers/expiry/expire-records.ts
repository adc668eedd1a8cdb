import type pg from 'pg'
import type { AppendOutcome } from '../../append/commit.ts'
import type { EntryRow } from '../../db/chain/append-entries.ts'
import { isUnavailable } from '../../db/connect/failures.ts'
import { listOverdue, type OverdueRecord } from '../../db/records/expiry-work.ts'
import { type GatedCase, type GatedName, readGatedCases } from '../../db/records/gated-cases.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import type { RecordState } from '../../proof/statement/kinds.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import type { Signers } from '../../signing/signers.ts'
import { agreedTime, type Clocks } from '../clocks.ts'
import { EXPIRIES_PER_ROUND } from '../limits.ts'
import type { Refused } from '../refused.ts'
import { commitSteps, errorOf, hasMoved } from '../verification/commit-steps.ts'
import { signAsSystem } from '../verification/sign-verification.ts'
import { verifyCase } from '../verification/verify-case.ts'

export type ExpireDeps = Clocks & {
  readonly pool: pg.Pool
  readonly envelopeKeys: EnvelopeKeys
  readonly cursorMac: CursorMac
  readonly signers: Signers
  /** Records that can't be expired as they stand. */
  readonly refusedExpiries: Refused
  readonly observeExpiry: () => void
  readonly log: { error(details: object, message: string): void }
}

/**
 * Makes the rounds that expire records whose deadline has passed while nothing was delivered, of all ledgers, page by page: each
 * returns whether there are more pages. The database's clock says what is overdue, and says it again when the entry is
 * appended; this machine's has to agree. An expired record is overdue no more: a worker that was killed goes on where it was, and of two workers one
 * comes second.
 */
export function makeExpiryRound(deps: ExpireDeps): () => Promise<boolean> {
  let last: OverdueRecord | null = null
  return async () => {
    const overdue = await listOverdue(deps.pool, last, EXPIRIES_PER_ROUND)
    last = overdue.length < EXPIRIES_PER_ROUND ? null : overdue.at(-1)!
    const due = overdue.filter((one) => !one.stands && !deps.refusedExpiries.isPaused(nameOf(one)))
    if (due.length > 0) await expire(deps, due)
    return last !== null
  }
}

async function expire(deps: ExpireDeps, due: readonly GatedName[]): Promise<void> {
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

/** An end that is signed for nobody's asking rests on what the follower has passed, as a verdict does. */
function isOpen({ state, closed, isFaulty, isSettled }: GatedCase): boolean {
  return closed === null && !isFaulty && isSettled && (state === 'CREATED' || state === 'ACTIVE')
}

/** signExpiry holds the deadline to what was signed. */
function isOverdue(deps: ExpireDeps, { deadline }: GatedCase): boolean {
  return deadline !== null && deadline.getTime() <= agreedTime(deps)
}

/** Throws ProofError unless the record was signed with this deadline, and stands where it says. */
async function signExpiry(deps: ExpireDeps, found: GatedCase): Promise<EntryRow> {
  const signed = await verifyCase(deps.envelopeKeys, found)
  const deadline = found.deadline?.toISOString()
  const agreed = signed.created.predicate['deadline']
  if (agreed !== deadline)
    throw new ProofError('columns_contradict_entries', `the deadline is ${deadline}, signed is ${agreed}`)
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

/** A completion, another worker, a new key or a closure that was quicker is found by the next round. */
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

function refuse(deps: ExpireDeps, { ledgerId, recordId }: GatedName, err: Error): void {
  const ids = { ledger: formatId('led', ledgerId), record: formatId('rec', recordId) }
  // Logged once: a login that can make such rows could otherwise fill the log.
  if (deps.refusedExpiries.refuse(nameOf({ ledgerId, recordId })))
    deps.log.error({ err, ...ids }, 'an overdue record does not expire')
}

function nameOf({ ledgerId, recordId }: GatedName): string {
  return `${formatId('led', ledgerId)} ${formatId('rec', recordId)}`
}
