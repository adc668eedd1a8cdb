import type pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { hasWaitingWebhooks, takeTurns, type WebhookTurn } from '../../db/events/webhook-turns.ts'
import { giveTurns, type Turns } from '../../db/jobs/turn-jobs.ts'
import { formatId } from '../../proof/ids.ts'
import { WEBHOOK_JOBS_QUEUED_MAX, WEBHOOK_LEASE_MS } from './limits.ts'

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
  const taken = await giveTurns(deps.pool, deps.boss, TURNS)
  if (taken > 0) deps.wakeDelivery()
  return taken === WEBHOOK_JOBS_QUEUED_MAX
}

const TURNS: Turns<'deliver-webhook', WebhookTurn> = {
  queue: 'deliver-webhook',
  queuedMax: WEBHOOK_JOBS_QUEUED_MAX,
  take: (client, limit) => takeTurns(client, limit, WEBHOOK_LEASE_MS),
  payloadOf: ({ ledgerId, webhookId }) => ({
    ledger: formatId('led', ledgerId),
    webhook: formatId('whk', webhookId),
  }),
}
