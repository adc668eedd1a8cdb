import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import { asJobsDatabase } from '../../db/jobs/job-queues.ts'
import type { Payload } from '../../db/jobs/queues.ts'
import type { GatedRecordKey } from '../../db/records/gated-cases.ts'
import {
  countReadyJobs,
  isReady,
  listWaitingLedgers,
  lockWaitingCompletions,
  putAsideCompletions,
  releaseLostCompletions,
  setVerificationJobs,
  type WaitingLedger,
} from '../../db/records/verification-work.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import { COMPLETION_JOB_MS_MAX, COMPLETIONS_PER_SWEEP, COMPLETIONS_QUEUED_MAX } from '../limits.ts'

export type EnqueueCompletionsDeps = {
  readonly pool: pg.Pool
  readonly boss: PgBoss
  readonly cursorMac: CursorMac
  /** Makes the follower verify a ledger at once. */
  readonly requestVerification: (ledgerId: Uuid) => void
  /** Starts polling for verification jobs in this process at once. Other processes poll once a second. */
  readonly wakeVerification: () => void
  readonly log: { warn(details: object, message: string): void }
}

/**
 * Makes a job for each completion without a job, in the transaction that marks the completion. Returns true if the
 * caller should call again at once.
 *
 * The queue is first in, first out. So it is kept short, and ledgers share it. If one ledger submits more than the
 * workers can verify, completions of other ledgers wait only for COMPLETIONS_QUEUED_MAX jobs, not for the whole
 * backlog.
 *
 * There is no cursor. An index contains only waiting completions, so an idle round takes one index read, and no
 * completion is ever skipped (docs/decisions/0008-verification-and-followers.md#verification-of-completions).
 */
export async function enqueueCompletions(deps: EnqueueCompletionsDeps): Promise<boolean> {
  const ledgers = await findReadyLedgers(deps)
  if (ledgers.length === 0) return false
  const taken = await withPooledTransaction(deps.pool, (client) => takeWaiting(deps.boss, client, ledgers))
  if (taken > 0) deps.wakeVerification()
  return taken === COMPLETIONS_QUEUED_MAX
}

/**
 * Returns the ledgers whose completions can be verified now. If a completion's entries are not verified yet, requests
 * that the follower verifies the ledger.
 */
export async function findReadyLedgers(
  deps: Pick<EnqueueCompletionsDeps, 'pool' | 'cursorMac' | 'requestVerification'>,
): Promise<WaitingLedger[]> {
  const ledgers = await listWaitingLedgers(deps.pool, deps.cursorMac)
  for (const ledger of ledgers) if (!isReady(ledger)) deps.requestVerification(ledger.ledgerId)
  return ledgers.filter(isReady)
}

async function takeWaiting(
  boss: PgBoss,
  client: pg.PoolClient,
  ledgers: readonly WaitingLedger[],
): Promise<number> {
  const room = COMPLETIONS_QUEUED_MAX - (await countReadyJobs(client, COMPLETIONS_QUEUED_MAX))
  if (room === 0) return 0
  const waiting = await lockWaitingCompletions(client, ledgers, room)
  const blocked = waiting.filter(({ isBlocked }) => isBlocked)
  if (blocked.length > 0) await putAsideCompletions(client, blocked)
  await insertJobs(
    boss,
    client,
    waiting.filter(({ isBlocked }) => !isBlocked),
  )
  return waiting.length
}

/**
 * Inserts jobs and stores their ids with the completions. Must be called while the transaction that locked or claimed
 * the completions is open. `client` may be in that transaction or in another one.
 */
export async function insertJobs(
  boss: PgBoss,
  client: pg.ClientBase,
  completions: readonly GatedRecordKey[],
): Promise<void> {
  if (completions.length === 0) return
  const jobs = completions.map((name) => ({ ...name, jobId: randomUUID() }))
  await boss.insert(
    'verify-completion',
    jobs.map(({ ledgerId, recordId, jobId }) => ({
      id: jobId,
      data: {
        ledger: formatId('led', ledgerId),
        record: formatId('rec', recordId),
      } satisfies Payload<'verify-completion'>,
    })),
    { db: asJobsDatabase(client) },
  )
  await setVerificationJobs(client, jobs)
}

/** Releases completions whose job is lost. `enqueueCompletions` then makes new jobs for them. */
export async function releaseCompletions(deps: EnqueueCompletionsDeps): Promise<boolean> {
  const released = await releaseLostCompletions(deps.pool, {
    jobMsMax: COMPLETION_JOB_MS_MAX,
    limit: COMPLETIONS_PER_SWEEP,
  })
  if (released > 0)
    deps.log.warn(
      { completions: released },
      'completions are enqueued again: their worker is gone, or their ledger continues',
    )
  return released === COMPLETIONS_PER_SWEEP
}
