import type pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { asJobsDatabase } from '../db/job-queues.ts'
import { withPooledTransaction } from '../db/transaction.ts'
import { countReadyTurns, hasWaitingWebhooks, takeTurns } from '../db/webhook-turns.ts'
import type { Payload } from '../jobs/queues.ts'
import { formatId } from '../proof/ids.ts'
import { WEBHOOK_JOBS_QUEUED_MAX, WEBHOOK_LEASE_MS } from '../webhook-limits.ts'

export type EnqueueWebhooksDeps = {
  readonly pool: pg.Pool
  readonly boss: PgBoss
  /** Wakes those of this process who deliver; the others look each second. */
  readonly wakeDelivery: () => void
}

/**
 * One round: a job for each endpoint that has something to hear and that nobody delivers to, in the transaction that gives it
 * the turn; returns whether more can follow at once.
 *
 * A job is a turn, not an event: ten million events that wait for a slow endpoint are a number in its cursor, and take nothing
 * from the others (docs/decisions/0012-webhooks-follow-the-chain.md).
 */
export async function enqueueWebhooks(deps: EnqueueWebhooksDeps): Promise<boolean> {
  if (!(await hasWaitingWebhooks(deps.pool))) return false
  const taken = await withPooledTransaction(deps.pool, (client) => giveTurns(deps.boss, client))
  if (taken > 0) deps.wakeDelivery()
  return taken === WEBHOOK_JOBS_QUEUED_MAX
}

async function giveTurns(boss: PgBoss, client: pg.PoolClient): Promise<number> {
  const room = WEBHOOK_JOBS_QUEUED_MAX - (await countReadyTurns(client, WEBHOOK_JOBS_QUEUED_MAX))
  if (room === 0) return 0
  const turns = await takeTurns(client, room, WEBHOOK_LEASE_MS)
  if (turns.length === 0) return 0
  await boss.insert(
    'deliver-webhook',
    turns.map(({ ledgerId, webhookId, jobId }) => ({
      id: jobId,
      data: {
        ledger: formatId('led', ledgerId),
        webhook: formatId('whk', webhookId),
      } satisfies Payload<'deliver-webhook'>,
    })),
    { db: asJobsDatabase(client) },
  )
  return turns.length
}
