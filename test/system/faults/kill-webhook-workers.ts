import { setTimeout as sleep } from 'node:timers/promises'
import { Deployment, type Ledger } from '../deployment/deployment.ts'
import { type RunningGatedClients, startGatedClients } from './gated-clients.ts'
import {
  formatWebhooks,
  type Listener,
  postPatiently,
  reckonWebhooks,
  settleWebhooks,
  startListener,
  type WebhookReckoning,
} from './webhook-listeners.ts'

type WebhookKillPlan = {
  readonly kills: number
  /** Number of clients of gated records. The same number of clients writes single records. */
  readonly clients: number
  readonly ledgers: number
  readonly endpointsPerLedger: number
  readonly loadMs: { readonly min: number; readonly max: number }
  /** True if retries come immediately at the end, and if the leases of killed workers are ended. */
  readonly hurry: boolean
}

export type WebhookKillOutcome = WebhookReckoning & {
  readonly requestsHit: readonly number[]
}

/** Maximum time in ms for which a kill waits for a request that it can interrupt. */
const HIT_MS_MAX = 500
const SINGLE_EVERY_MS_MAX = 150

/**
 * Kills one of two worker processes that deliver, and restarts it. The kills alternate between the two workers and come
 * at random moments.
 */
export async function killWebhookWorkers(dir: string, plan: WebhookKillPlan): Promise<WebhookKillOutcome> {
  const deployment = await Deployment.start({ dir, apis: 1, worker: 2 })
  const listeners: Listener[] = []
  let clients: RunningGatedClients | null = null
  const state = { stopping: false }
  try {
    const ledgers = await deployment.createLedgers(plan.ledgers)
    clients = await startGatedClients(deployment.urls, ledgers, { clients: plan.clients })
    for (const ledger of ledgers)
      for (let i = 0; i < plan.endpointsPerLedger; i++)
        listeners.push(await startListener(deployment.urls[0]!, ledger))
    const singles = ledgers.flatMap((ledger) =>
      Array.from({ length: plan.clients / plan.ledgers }, () =>
        recordSingles(deployment.urls[0]!, ledger, state),
      ),
    )
    for (const single of singles) single.catch(() => {}) // The errors are reported below.
    const requestsHit: number[] = []
    for (let i = 0; i < plan.kills; i++) {
      await sleep(plan.loadMs.min + Math.random() * (plan.loadMs.max - plan.loadMs.min))
      const countUnderWay = () => listeners.reduce((sum, { underWay }) => sum + underWay(), 0)
      for (let ms = 0; ms < HIT_MS_MAX && countUnderWay() === 0; ms++) await sleep(1)
      requestsHit.push(countUnderWay())
      await deployment.killWorker(i % 2)
      await deployment.startWorker(i % 2)
    }
    await clients.finish()
    state.stopping = true
    await Promise.all(singles)
    deployment.requireAlive()
    const deliveries = await settleWebhooks(deployment.superuserUrl, listeners, plan.hurry)
    return { ...reckonWebhooks(deliveries), requestsHit }
  } finally {
    state.stopping = true
    await clients?.abandon()
    for (const listener of listeners) await listener.close()
    await deployment.stop()
  }
}

async function recordSingles(url: string, { bearer }: Ledger, state: { stopping: boolean }): Promise<void> {
  for (let n = 0; !state.stopping; n++) {
    await postPatiently(url, bearer, '/v1/records', { type: 'generic/1', payload: { n } })
    await sleep(Math.random() * SINGLE_EVERY_MS_MAX)
  }
}

export function formatWebhookKills({ requestsHit, ...reckoning }: WebhookKillOutcome): string {
  return (
    `${formatWebhooks(reckoning)} kills=${requestsHit.length}; ` +
    `requests under way at each kill: ${requestsHit.join(', ')}`
  )
}
