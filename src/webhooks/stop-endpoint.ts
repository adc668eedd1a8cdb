import type { Db } from '../db/client.ts'
import { addNotices, listListeners, stopWebhook, type WebhookName } from '../db/webhook-work.ts'
import type { Entropy } from '../entropy.ts'
import type { NoticeType } from '../events/event-types.ts'
import { formatId } from '../proof/ids.ts'
import type { Stop } from './health.ts'
import { noticeBody } from './notices.ts'

export type StopDeps = {
  readonly pool: Db
  readonly entropy: Entropy
  readonly now: () => number
  readonly log: { warn(details: object, message: string): void }
}

const PAUSED: NoticeType = 'webhook.paused'

/** Of an endpoint that answers for itself no more the ledger's other endpoints hear. */
export async function stopEndpoint(deps: StopDeps, name: WebhookName, stop: Stop): Promise<void> {
  if (!(await stopWebhook(deps.pool, name, stop))) return
  const ledger = formatId('led', name.ledgerId)
  const id = formatId('whk', name.webhookId)
  deps.log.warn({ ledger, webhook: id, ...stop }, 'an endpoint is not delivered to any more')
  const nowMs = deps.now()
  const body = noticeBody(PAUSED, { ledger, webhook: { id, ...stop }, atMs: nowMs })
  const listeners = await listListeners(deps.pool, name, PAUSED)
  const notices = listeners.map((webhookId) => ({
    webhookId,
    eventId: deps.entropy.uuidv7(nowMs),
    event: PAUSED,
    body,
  }))
  if (notices.length > 0) await addNotices(deps.pool, name.ledgerId, notices)
}
