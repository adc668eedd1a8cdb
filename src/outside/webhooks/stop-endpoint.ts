import type pg from 'pg'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import type { WebhookKey } from '../../db/events/webhook-leases.ts'
import { addNotices, listListeners, stopWebhook } from '../../db/events/webhook-work.ts'
import { formatId } from '../../proof/ids.ts'
import type { Entropy } from '../../signing/entropy.ts'
import type { NoticeType } from '../events/event-types.ts'
import type { Stop } from './health.ts'
import { noticeOf } from './notices.ts'

export type StopDeps = {
  readonly pool: pg.Pool
  readonly entropy: Entropy
  readonly now: () => number
  readonly log: { warn(details: object, message: string): void }
  /** Called after the commit, once for each endpoint that this process stopped. */
  readonly observeStop: (stop: Stop) => void
}

const PAUSED: NoticeType = 'webhook.paused'

/**
 * Stops an endpoint and notifies the ledger's other endpoints in one transaction. With two transactions, a crash
 * between them would leave the other endpoints without a notice.
 */
export async function stopEndpoint(deps: StopDeps, name: WebhookKey, stop: Stop): Promise<void> {
  const id = formatId('whk', name.webhookId)
  const isStopped = await withPooledTransaction(deps.pool, async (client) => {
    if (!(await stopWebhook(client, name, stop))) return false
    const listeners = await listListeners(client, name, PAUSED)
    const notice = noticeOf({ id, ...stop })
    const notices = listeners.map((webhookId) => ({
      webhookId,
      eventId: deps.entropy.uuidv7(deps.now()),
      event: PAUSED,
      notice,
    }))
    if (notices.length > 0) await addNotices(client, name.ledgerId, notices)
    return true
  })
  if (!isStopped) return
  deps.observeStop(stop)
  const about = { ledger: formatId('led', name.ledgerId), webhook: id, ...stop }
  deps.log.warn(about, 'deliveries to an endpoint were stopped')
}
