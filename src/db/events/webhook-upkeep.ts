import { NIL_UUID, type Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { firstUuidv7 } from '../connect/uuid.ts'
import type { WebhookKey } from './webhook-leases.ts'

const DAY_MS = 86_400_000

/** An endpoint to clean up. `isDeleted` is true if the endpoint was deleted so long ago that every sender knows it. */
export type WebhookListed = WebhookKey & { readonly isDeleted: boolean }

/**
 * Lists at most `limit` endpoints in the order of their ids. Begins after `last`, or with the first endpoint if `last`
 * is null.
 */
export async function listWebhooksAfter(
  db: Db,
  last: WebhookKey | null,
  limit: number,
): Promise<WebhookListed[]> {
  const { rows } = await db.query<{ ledgerId: Uuid; webhookId: Uuid; deleted: boolean }>({
    name: 'list_webhooks_after',
    text: `select ledger_id, webhook_id, state = 'deleted' and state_at < now() - interval '1 minute' as deleted from tallystick.webhooks
      where (ledger_id, webhook_id) > ($1, $2) order by ledger_id, webhook_id limit $3`,
    values: [last?.ledgerId ?? NIL_UUID, last?.webhookId ?? NIL_UUID, limit],
  })
  return rows.map((row) => ({
    ledgerId: row.ledgerId,
    webhookId: row.webhookId,
    isDeleted: row.deleted,
  }))
}

type DeliveryRetention = {
  readonly deliveredDays: number
  readonly deadDays: number
  /** Maximum number of stored rows of delivered events. If there are more, the newest rows stay. */
  readonly deliveredMax: number
}

/**
 * Removes at most `limit` rows of deliveries whose retention has ended. Returns the number of removed rows.
 *
 * The query also limits the ids of events, so that it reads only the oldest rows. An id contains the time of its event,
 * and a delivery always ends after that time. So the limit skips no row whose retention has ended.
 */
export async function deleteOldDeliveries(
  db: Db,
  { ledgerId, webhookId }: WebhookKey,
  retention: DeliveryRetention,
  limit: number,
): Promise<number> {
  const { rowCount } = await db.query({
    name: 'delete_old_deliveries',
    text: `delete from tallystick.webhook_deliveries d using (
        (select o.event_id from tallystick.webhook_deliveries o
         where o.ledger_id = $1 and o.webhook_id = $2 and o.event_id < $7
           and (o.state = 'delivered' and o.finished_at < now() - make_interval(days => $3)
             or o.state = 'dead' and o.finished_at < now() - make_interval(days => $4))
         order by o.event_id limit $6)
        union
        (select o.event_id from tallystick.webhook_deliveries o
         where o.ledger_id = $1 and o.webhook_id = $2 and o.state = 'delivered' and o.event_id < (
           select n.event_id from tallystick.webhook_deliveries n
           where n.ledger_id = $1 and n.webhook_id = $2 and n.state = 'delivered'
           order by n.event_id desc offset $5 limit 1)
         order by o.event_id limit $6)
        limit $6
      ) old
      where d.ledger_id = $1 and d.webhook_id = $2 and d.event_id = old.event_id`,
    values: [
      ledgerId,
      webhookId,
      retention.deliveredDays,
      retention.deadDays,
      retention.deliveredMax - 1,
      limit,
      firstUuidv7(Date.now() - Math.min(retention.deliveredDays, retention.deadDays) * DAY_MS),
    ],
  })
  return rowCount ?? 0
}

/**
 * Removes the rows of a deleted endpoint. Returns the number of removed deliveries. If this number is smaller than
 * `limit`, no rows are left.
 */
export async function removeDeletedWebhook(
  db: Db,
  { ledgerId, webhookId }: WebhookKey,
  limit: number,
): Promise<number> {
  const values = [ledgerId, webhookId]
  const { rowCount } = await db.query({
    name: 'remove_deliveries',
    text: `delete from tallystick.webhook_deliveries d using (
        select o.event_id from tallystick.webhook_deliveries o where o.ledger_id = $1 and o.webhook_id = $2 limit $3
      ) gone
      where d.ledger_id = $1 and d.webhook_id = $2 and d.event_id = gone.event_id`,
    values: [...values, limit],
  })
  if ((rowCount ?? 0) < limit) {
    // The foreign keys between the tables require this order of the statements.
    await db.query('delete from tallystick.webhook_secrets where ledger_id = $1 and webhook_id = $2', values)
    await db.query('delete from tallystick.webhook_cursors where ledger_id = $1 and webhook_id = $2', values)
    await db.query('delete from tallystick.webhooks where ledger_id = $1 and webhook_id = $2', values)
  }
  return rowCount ?? 0
}
