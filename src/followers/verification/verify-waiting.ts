import { withPooledTransaction } from '../../db/connect/transaction.ts'
import type { GatedRecordKey } from '../../db/records/gated-cases.ts'
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
 * Makes rounds that verify completions without a job. Only completions that fail get a job. The job is retried and at
 * last becomes a dead letter. Jobs are expensive: when every completion had a job, jobs took a tenth of Postgres' time,
 * and four of the five commits of each batch.
 *
 * The first round makes jobs for all completions that wait when the worker starts. One of these completions may have
 * crashed the worker before. With a job, it can do so only a limited number of times, because a job has limited
 * retries.
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

/** Does one round. Returns true if the caller should call again at once. */
export async function verifyWaiting(deps: VerifyWaitingDeps): Promise<boolean> {
  const ledgers = await findReadyLedgers(deps)
  if (ledgers.length === 0) return false
  const { more, left } = await withPooledTransaction(deps.pool, async (client) => {
    // This transaction contains only the claim. The steps are committed in other transactions.
    const waiting = await claimWaitingCompletions(client, ledgers, {
      limit: COMPLETIONS_PER_BATCH,
      claimMsMax: COMPLETION_CLAIM_MS_MAX,
    })
    const left = await verifyClaimed(deps, waiting)
    // The jobs are inserted in another transaction, because Postgres may have ended this one if the batch took too
    // long. The jobs must be stored. Otherwise a completion that makes the batch too slow would be tried again and
    // again, together with all other completions.
    if (left.length > 0) await withPooledTransaction(deps.pool, (other) => insertJobs(deps.boss, other, left))
    return { more: hasFullShare(waiting), left: left.length }
  })
  if (left > 0) deps.wakeVerification()
  return more
}

/** Returns true if the completions taken from some ledger fill its share. The ledger may then have more completions. */
function hasFullShare(waiting: readonly GatedRecordKey[]): boolean {
  const counts = new Map<string, number>()
  for (const { ledgerId } of waiting) counts.set(ledgerId, (counts.get(ledgerId) ?? 0) + 1)
  const share = Math.max(1, Math.floor(COMPLETIONS_PER_BATCH / counts.size))
  return [...counts.values()].some((count) => count >= share)
}

/** Verifies the claimed completions. Returns those that were not verified. */
async function verifyClaimed(
  deps: VerifyWaitingDeps,
  waiting: readonly GatedRecordKey[],
): Promise<GatedRecordKey[]> {
  if (waiting.length === 0) return []
  const results = await attempt(deps, waiting)
  return waiting.filter((_, i) => results[i]!.status !== 'done')
}

async function attempt(
  deps: VerifyWaitingDeps,
  waiting: readonly GatedRecordKey[],
): Promise<VerificationResult[]> {
  const first: VerifyCompletionsDeps = {
    typeWaitMsMax: COMPLETION_TYPE_WAIT_FIRST_MS_MAX,
    ...deps,
    // A refusal is not reported here. The job verifies the completion again and reports the refusal.
    observeVerification: (outcome, ...found) => {
      if (outcome !== 'refused') deps.observeVerification(outcome, ...found)
    },
  }
  try {
    return await verifyCompletions(first, waiting)
  } catch (error) {
    deps.log.warn(
      { err: error, completions: waiting.length },
      'completions could not be verified: they are retried as jobs',
    )
    return waiting.map(() => ({ status: 'failed', error: error as Error }))
  }
}
