import type { Payload } from '../../src/db/jobs/queues.ts'
import type { WebhookLanes } from '../../src/outside/webhooks/lanes.ts'
import { parseId } from '../../src/proof/ids.ts'

/** The job's id is what the endpoint's turn was given to. */
export function deliverWebhookJob(lanes: WebhookLanes) {
  return ({ ledger, webhook }: Payload<'deliver-webhook'>, jobId: string): Promise<void> =>
    lanes.take({ ledgerId: parseId('led', ledger), webhookId: parseId('whk', webhook), jobId })
}
