import type pg from 'pg'
import { Counter, Gauge, Histogram } from 'prom-client'
import { readWebhookFigures } from '../db/webhook-work.ts'
import type { DeliveryObserver } from '../webhooks/lane.ts'
import type { WebhookLanes } from '../webhooks/lanes.ts'
import type { Metrics } from './metrics.ts'

/** What the worker tells of each attempt to deliver, counted. */
export function makeDeliveryObserver({ registry }: Metrics): DeliveryObserver {
  const registers = [registry]
  const attempts = new Counter({
    name: 'tallystick_webhook_attempts_total',
    help: 'Attempts to deliver an event to an endpoint; dead: the last one, and it failed',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of ['delivered', 'failed', 'dead']) attempts.inc({ outcome }, 0)
  const seconds = new Histogram({
    name: 'tallystick_webhook_lag_seconds',
    help: 'From an event to its delivery',
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3_600, 86_400],
    registers,
  })
  return (outcome, ms) => {
    attempts.inc({ outcome })
    if (ms !== null) seconds.observe(ms / 1000)
  }
}

/** The first is of this process; the others are asked of the database when somebody reads, and absent while it does not answer. */
export function watchWebhooks({ registry }: Metrics, pool: pg.Pool, lanes: WebhookLanes): void {
  const registers = [registry]
  new Gauge({
    name: 'tallystick_webhook_requests',
    help: 'Requests to endpoints under way',
    registers,
    collect() {
      this.set(lanes.requestsUnderWay)
    },
  })
  new Gauge({
    name: 'tallystick_webhook_endpoints',
    help: 'Endpoints: delivered to, of these the ones that fail and the ones that have not heard of all entries; paused; disabled',
    labelNames: ['state'],
    registers,
    async collect() {
      this.reset()
      const figures = await readWebhookFigures(pool).catch(() => ({}))
      for (const [state, count] of Object.entries(figures)) this.set({ state }, count)
    },
  })
}
