import type { Db } from '../../db/connect/client.ts'
import type { WebhookKey } from '../../db/events/webhook-leases.ts'
import {
  deleteOldDeliveries,
  listWebhooksAfter,
  removeDeletedWebhook,
  type WebhookListed,
} from '../../db/events/webhook-upkeep.ts'
import {
  WEBHOOK_DEAD_RETENTION_DAYS,
  WEBHOOK_DELIVERED_RETENTION_DAYS,
  WEBHOOK_DELIVERED_STORED_MAX,
  WEBHOOK_UPKEEP_DELETIONS_MAX,
  WEBHOOK_UPKEEP_ENDPOINTS,
  WEBHOOK_UPKEEP_ROWS,
} from './limits.ts'

const RETENTION = {
  deliveredDays: WEBHOOK_DELIVERED_RETENTION_DAYS,
  deadDays: WEBHOOK_DEAD_RETENTION_DAYS,
  deliveredMax: WEBHOOK_DELIVERED_STORED_MAX,
}

/**
 * Makes a function that deletes old deliveries and the rows of deleted endpoints. Each call handles some endpoints,
 * round-robin. It returns true if more endpoints are left in this round.
 */
export function makeWebhookUpkeep(deps: { readonly pool: Db }): () => Promise<boolean> {
  let last: WebhookKey | null = null
  return async () => {
    const webhooks = await listWebhooksAfter(deps.pool, last, WEBHOOK_UPKEEP_ENDPOINTS)
    last = webhooks.length < WEBHOOK_UPKEEP_ENDPOINTS ? null : webhooks.at(-1)!
    for (const webhook of webhooks) {
      // Deletes repeatedly, so that the rows of a fast endpoint do not pile up. The number of repetitions is bounded,
      // so that the other endpoints are handled too.
      for (let i = 0; i < WEBHOOK_UPKEEP_DELETIONS_MAX && (await removeSome(deps.pool, webhook)); i++);
    }
    return last !== null
  }
}

async function removeSome(db: Db, { isDeleted, ...name }: WebhookListed): Promise<boolean> {
  const removed = isDeleted
    ? await removeDeletedWebhook(db, name, WEBHOOK_UPKEEP_ROWS)
    : await deleteOldDeliveries(db, name, RETENTION, WEBHOOK_UPKEEP_ROWS)
  return removed === WEBHOOK_UPKEEP_ROWS
}
