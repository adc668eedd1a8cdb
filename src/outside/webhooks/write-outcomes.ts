import type pg from 'pg'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import type { Endpoint, WebhookLease } from '../../db/events/webhook-leases.ts'
import {
  type Progress,
  releaseWaiting,
  reopenDeliveries,
  type WrittenDelivery,
  writeProgress,
} from '../../db/events/webhook-work.ts'
import { type Delivery, rowOf } from './delivery.ts'
import { WEBHOOK_STRAGGLER_DUE_MS } from './limits.ts'
import type { Write } from './window.ts'

/** Event whose delivery is delivered or dead, and must be sent again. */
export type RedeliveredEvent = Pick<WrittenDelivery, 'eventId' | 'recordId'>

export type SettledDelivery = { readonly delivery: Delivery; readonly dueInMs: number | null }

/**
 * Writes outcomes and releases the deliveries that waited for them, in one transaction. With two transactions, a crash
 * between them would leave those deliveries waiting. `isOurs`: false if another job has the lease. Then nothing was
 * written.
 */
export async function writeOutcomes(
  pool: pg.Pool,
  { lease, endpoint }: { readonly lease: WebhookLease; readonly endpoint: Endpoint },
  progress: Omit<Progress, 'mayBeLost'>,
  again: readonly RedeliveredEvent[],
  letsGo: readonly Pick<WrittenDelivery, 'recordId'>[],
): Promise<{ readonly isOurs: boolean; readonly released: number }> {
  const records = new Set(letsGo.flatMap(({ recordId }) => (recordId ? [recordId] : [])))
  if (records.size === 0 && again.length === 0) {
    const mayBeLost = progress.rows.every(({ state }) => state === 'delivered')
    return { isOurs: await writeProgress(pool, lease, { ...progress, mayBeLost }), released: 0 }
  }
  return withPooledTransaction(pool, async (client) => {
    if (!(await writeProgress(client, lease, { ...progress, mayBeLost: false })))
      return { isOurs: false, released: 0 }
    const eventIds = again.map(({ eventId }) => eventId)
    if (eventIds.length > 0) await reopenDeliveries(client, endpoint, eventIds)
    return { isOurs: true, released: await releaseWaiting(client, endpoint, [...records]) }
  })
}

export function toRow({ task, outcome, result }: Write<Delivery, SettledDelivery>): WrittenDelivery {
  const { delivery, dueInMs } = result ?? { delivery: task.content, dueInMs: null }
  if (outcome === null) return rowOf(delivery, 'pending', WEBHOOK_STRAGGLER_DUE_MS)
  if (outcome === 'retry') return rowOf(delivery, 'pending', dueInMs)
  return rowOf(delivery, outcome, null)
}

/**
 * Returns true if this write may allow waiting deliveries to be released. A delivery that was just marked `held` counts
 * too, because the delivery for which it waits may have just ended.
 */
export function mayRelease({ outcome, stored }: Write<Delivery, SettledDelivery>): boolean {
  return outcome === 'held' || (stored && (outcome === 'delivered' || outcome === 'dead'))
}
