import { withPooledTransaction } from '../../db/connect/transaction.ts'
import type { GatedName } from '../../db/records/gated-cases.ts'
import { claimWaitingCompletions } from '../../db/records/verification-work.ts'
import {
  COMPLETION_CLAIM_MS_MAX,
  COMPLETION_TYPE_WAIT_FIRST_MS_MAX,
  COMPLETIONS_PER_BATCH,
} from '../limits.ts'
import {
  type EnqueueCompletionsDeps,
  enqueueCompletions,
  findReadyLedgers,
  insertJobs,
} from './enqueue-completions.ts'
import {
  type VerificationResult,
  type VerifyCompletionsDeps,
  verifyCompletions,
} from './verify-completions.ts'

type VerifyWaitingDeps = EnqueueCompletionsDeps & VerifyCompletionsDeps

/**
 * A round of completions that no job carries: they are verified at once, and what does not succeed gets a job, which is tried
 * again and in the end put aside. A job for each took a tenth of Postgres' time, and four of the five commits of a batch.
 *
 * Completions that wait when a worker starts go by jobs: one of them may have killed the worker before, and a job is
 * not tried without end.
 */
export function makeVerificationRound(deps: VerifyWaitingDeps): () => Promise<boolean> {
  let isFirst = true
  return async () => {
    if (!isFirst) return verifyWaiting(deps)
    const more = await enqueueCompletions(deps)
    isFirst = false
    return more
  }
}

/** One round; returns whether more can follow at once. */
export async function verifyWaiting(deps: VerifyWaitingDeps): Promise<boolean> {
  const ledgers = await findReadyLedgers(deps)
  if (ledgers.length === 0) return false
  const { more, left } = await withPooledTransaction(deps.pool, async (client) => {
    // Nothing but the claim hangs on this transaction: the findings are committed in others.
    const waiting = await claimWaitingCompletions(client, ledgers, {
      limit: COMPLETIONS_PER_BATCH,
      claimMsMax: COMPLETION_CLAIM_MS_MAX,
    })
    const left = await verifyClaimed(deps, waiting)
    // In a transaction of its own: this one Postgres may have ended, because the batch took too long, and without jobs what
    // makes it so slow would be tried again and again, and all others with it.
    if (left.length > 0) await withPooledTransaction(deps.pool, (other) => insertJobs(deps.boss, other, left))
    return { more: hasFullShare(waiting), left: left.length }
  })
  if (left > 0) deps.wakeVerification()
  return more
}

/** As many of a ledger were taken as are at a time: it may have more. */
function hasFullShare(waiting: readonly GatedName[]): boolean {
  const counts = new Map<string, number>()
  for (const { ledgerId } of waiting) counts.set(ledgerId, (counts.get(ledgerId) ?? 0) + 1)
  const share = Math.max(1, Math.floor(COMPLETIONS_PER_BATCH / counts.size))
  return [...counts.values()].some((count) => count >= share)
}

/** Those that were not verified. */
async function verifyClaimed(deps: VerifyWaitingDeps, waiting: readonly GatedName[]): Promise<GatedName[]> {
  if (waiting.length === 0) return []
  const results = await attempt(deps, waiting)
  return waiting.filter((_, i) => results[i]!.status !== 'done')
}

async function attempt(
  deps: VerifyWaitingDeps,
  waiting: readonly GatedName[],
): Promise<VerificationResult[]> {
  const first: VerifyCompletionsDeps = {
    typeWaitMsMax: COMPLETION_TYPE_WAIT_FIRST_MS_MAX,
    ...deps,
    // A refusal happens again in its job, which reports it.
    observeVerification: (outcome, ...found) => {
      if (outcome !== 'refused') deps.observeVerification(outcome, ...found)
    },
  }
  try {
    return await verifyCompletions(first, waiting)
  } catch (error) {
    deps.log.warn(
      { err: error, completions: waiting.length },
      'completions could not be verified: they get jobs',
    )
    return waiting.map(() => ({ status: 'failed', error: error as Error }))
  }
}
