import { WEBHOOK_LEASES, type WebhookLease } from '../../db/events/webhook-leases.ts'
import type { LeaseJobs } from '../../db/jobs/lease-jobs.ts'
import { formatId } from '../../proof/ids.ts'
import { WEBHOOK_JOBS_QUEUED_MAX, WEBHOOK_LEASE_MS } from './limits.ts'

export const WEBHOOK_JOBS: LeaseJobs<'deliver-webhook', WebhookLease> = {
  table: WEBHOOK_LEASES,
  queue: 'deliver-webhook',
  queuedMax: WEBHOOK_JOBS_QUEUED_MAX,
  leaseMs: WEBHOOK_LEASE_MS,
  payloadOf: ({ ledgerId, webhookId }) => ({
    ledger: formatId('led', ledgerId),
    webhook: formatId('whk', webhookId),
  }),
}
