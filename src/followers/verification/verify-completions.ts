import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'
import type { AppendOutcome } from '../../append/commit.ts'
import type { EntryRow } from '../../db/chain/append-entries.ts'
import { listFaulty } from '../../db/ledgers/ledger-faults.ts'
import { type GatedCase, type GatedRecordKey, readGatedCases } from '../../db/records/gated-cases.ts'
import { putAsideCompletions } from '../../db/records/verification-work.ts'
import type { TypeRegistry } from '../../ledgers/types/type-registry.ts'
import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { waitsForWorker } from '../../records/lifecycle.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import type { Entropy } from '../../signing/entropy.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import type { Signers } from '../../signing/signers.ts'
import { commitSteps, errorOf, hasMoved } from './commit-steps.ts'
import { judgeCompletion } from './judge-completion.ts'
import { signLateVerdict, signVerification } from './sign-verification.ts'
import { readDocuments, verifyCompletion } from './verify-completion.ts'

export type VerifyCompletionsDeps = {
  readonly pool: pg.Pool
  readonly envelopeKeys: EnvelopeKeys
  readonly cursorMac: CursorMac
  /** Makes the follower verify a ledger at once. */
  readonly requestVerification: (ledgerId: Uuid) => void
  readonly signers: Signers
  readonly types: TypeRegistry
  readonly entropy: Entropy
  readonly now: () => number
  readonly observeVerification: VerificationObserver
  /** Maximum time in ms to wait for a type. Default: COMPLETION_TYPE_WAIT_MS_MAX. */
  readonly typeWaitMsMax?: number
}

/**
 * Called for each verified completion and for each refused completion. `ms`: time since the completion was submitted; 0
 * if it was refused.
 */
export type VerificationObserver = (
  outcome: 'pass' | 'fail' | 'refused',
  ms: number,
  completion?: GatedRecordKey & { readonly traceparent: unknown },
) => void

/**
 * The result for one completion.
 *
 * - `done`: nothing is left to do now.
 * - `refused`: the stored data differ from the signed data. Nothing was appended, and a retry does not help.
 * - `failed`: a retry may succeed.
 */
export type VerificationResult =
  | { readonly status: 'done' }
  | { readonly status: 'failed' | 'refused'; readonly error: Error }

const DONE: VerificationResult = { status: 'done' }

/** `moved`: the record or its ledger has changed, because another worker was first or the ledger has a new key. */
type AttemptResult = VerificationResult | { readonly status: 'moved'; readonly error: Error }

/**
 * The entries to append for one completion. `outcome`: result of the completion's rules. null if the completion was
 * verified before and only the verdict is missing.
 */
type SignedSteps = GatedRecordKey & {
  readonly entries: readonly EntryRow[]
  readonly outcome: 'pass' | 'fail' | null
  readonly submittedAtMs: number
  /** Traceparent of the request that submitted the completion. Its type is not checked: it may be any JSON value. */
  readonly traceparent: unknown
}

/**
 * Verifies completions of any ledgers. Returns one result for each completion, in order.
 *
 * All completions are read in one snapshot, and their steps are committed in as few calls as possible. No step is
 * appended twice, even if another worker verifies the same completion, because the chain accepts one entry for each
 * version of a record. If a completion is not below the verified size of its ledger, it is skipped and found again
 * later.
 */
export async function verifyCompletions(
  deps: VerifyCompletionsDeps,
  names: readonly GatedRecordKey[],
): Promise<VerificationResult[]> {
  const results = await attempt(deps, names)
  const moved = names.filter((_, i) => results[i]!.status === 'moved')
  const again = (moved.length > 0 ? await attempt(deps, moved) : []).values()
  return results.map((result) => {
    const last = result.status === 'moved' ? again.next().value! : result
    return last.status === 'moved' ? { status: 'failed', error: last.error } : last
  })
}

async function attempt(
  deps: VerifyCompletionsDeps,
  names: readonly GatedRecordKey[],
): Promise<AttemptResult[]> {
  const { cursorMac, envelopeKeys } = deps
  const cases = await readGatedCases(deps.pool, { cursorMac, known: envelopeKeys.known }, names)
  const blocked = cases.filter((found) => found !== null && waitsForWorker(found) && isClosedOrFaulty(found))
  if (blocked.length > 0) await putAsideCompletions(deps.pool, blocked as GatedCase[])
  const prepared = await dropFaulty(deps, await prepareAll(deps, cases))
  const signed = prepared.filter((one) => 'entries' in one)
  const committed = (
    await commitSteps(
      deps.pool,
      signed.map(({ entries }) => entries),
    )
  ).values()
  return prepared.map((one) => ('entries' in one ? settle(deps, one, committed.next().value!) : one))
}

/** Returns true if the ledger is closed or has a fault. Nothing is appended to such a ledger. */
function isClosedOrFaulty({ closed, isFaulty }: GatedCase): boolean {
  return closed !== null || isFaulty
}

/**
 * Drops the steps of ledgers in which a fault was found while the batch was prepared. Preparing may take long, because
 * types may have to be compiled.
 */
async function dropFaulty(
  deps: VerifyCompletionsDeps,
  prepared: readonly (SignedSteps | VerificationResult)[],
): Promise<(SignedSteps | VerificationResult)[]> {
  const ledgers = prepared.flatMap((one) => ('entries' in one ? [one.ledgerId] : []))
  const faulty = ledgers.length === 0 ? new Set() : await listFaulty(deps.pool, ledgers)
  return prepared.map((one) => ('entries' in one && faulty.has(one.ledgerId) ? DONE : one))
}

/**
 * Prepares the steps of all completions. Starts one completion in each iteration of the event loop. Starting all at
 * once would block other work of the thread.
 */
async function prepareAll(
  deps: VerifyCompletionsDeps,
  cases: readonly (GatedCase | null)[],
): Promise<(SignedSteps | VerificationResult)[]> {
  const prepared: Promise<SignedSteps | VerificationResult>[] = []
  for (const found of cases) {
    prepared.push(prepare(deps, found).catch((error: Error) => toResult(deps, error)))
    await nextTurn()
  }
  return Promise.all(prepared)
}

/**
 * Prepares the steps of one completion. Returns status `done` if there is nothing to append now. Throws ProofError if
 * the stored data differ from the signed data.
 */
async function prepare(
  deps: VerifyCompletionsDeps,
  found: GatedCase | null,
): Promise<SignedSteps | VerificationResult> {
  if (!found || !waitsForWorker(found) || isClosedOrFaulty(found)) return DONE
  if (!found.isVerified) {
    deps.requestVerification(found.ledgerId)
    return DONE
  }
  const completion = await verifyCompletion(deps.envelopeKeys, found)
  const signer = await deps.signers.signerOf(found)
  const { submittedAtMs, verified, newest } = completion
  const { ledgerId, recordId } = found
  const about = { ledgerId, recordId, submittedAtMs, traceparent: newest.predicate['traceparent'] }
  if (verified) {
    const signing = { signer, entropy: deps.entropy, nowMs: deps.now() }
    return { entries: [signLateVerdict(signing, found, completion, verified)], outcome: null, ...about }
  }
  const documents = await readDocuments(deps, found, completion)
  const judgement = await judgeCompletion(deps, found.ledgerId, completion, documents)
  const signing = { signer, entropy: deps.entropy, nowMs: deps.now() }
  const entries = signVerification(signing, found, completion, judgement)
  return { entries, outcome: judgement.outcome, ...about }
}

function toResult(deps: VerifyCompletionsDeps, error: Error): VerificationResult {
  if (!(error instanceof ProofError)) return { status: 'failed', error }
  deps.observeVerification('refused', 0)
  return { status: 'refused', error }
}

/**
 * Returns the result for a completion. `outcomes` has one outcome for each entry. If only the first of two entries was
 * appended, the verdict is still missing.
 */
function settle(
  deps: VerifyCompletionsDeps,
  { entries, outcome, submittedAtMs, ledgerId, recordId, traceparent }: SignedSteps,
  outcomes: readonly AppendOutcome[],
): AttemptResult {
  // A verdict is a settlement. Settlements are delivered only after the follower has verified them.
  const isVerdict = entries.at(-1)!.kind === 'verdict-rendered'
  if (isVerdict && outcomes.at(-1)!.status === 'appended') deps.requestVerification(ledgerId)
  if (outcomes[0]!.status === 'appended' && outcome !== null)
    deps.observeVerification(outcome, deps.now() - submittedAtMs, { ledgerId, recordId, traceparent })
  const missing = outcomes.find(({ status }) => status !== 'appended')
  if (!missing) return DONE
  return { status: hasMoved(missing) ? 'moved' : 'failed', error: errorOf(missing) }
}
