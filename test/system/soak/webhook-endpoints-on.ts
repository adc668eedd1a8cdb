import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebhookReceiver } from '../../../bench/webhook-receiver.ts'
import type { LatencySummary } from '../../../cli/preflight/latencies.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import type { Deployment, Ledger } from '../deployment/deployment.ts'

/** Events that the receivers count. There is one such event for each record. */
const EVENTS = ['record.recorded']
/** Maximum wait in ms for requests that a worker still has to send. */
export const SETTLE_MS_MAX = 60_000

export async function addEndpoint(
  { urls }: Deployment,
  { bearer }: Ledger,
  url: string,
): Promise<{ id: string; secret: string }> {
  return post(urls[0]!, bearer, '/v1/webhooks', { url, events: EVENTS })
}

/** Creates an endpoint at a counting receiver. `number` identifies the endpoint at the receiver. */
export async function addCounted(
  deployment: Deployment,
  ledger: Ledger,
  receiver: WebhookReceiver,
  { number, answerMs = 0 }: { number: number; answerMs?: number },
): Promise<string> {
  const url = `http://127.0.0.1:${receiver.port}/${number}`
  const { id, secret } = await addEndpoint(deployment, ledger, url)
  await receiver.add([{ secret, answerMs }])
  return id
}

/** Waits until all due events have arrived, or until a limit. Returns the number of events that arrived. */
export async function settle(receiver: WebhookReceiver, due: number): Promise<number> {
  const giveUpAt = performance.now() + SETTLE_MS_MAX
  for (;;) {
    const { events } = await receiver.read([])
    if (events >= due || performance.now() > giveUpAt) return events
    await sleep(100)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers of any route
export async function post(url: string, bearer: string, path: string, body: object): Promise<any> {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status}: ${text}`)
  return JSON.parse(text)
}

export function formatLag({ count, p50, p90, p99, p999, max }: LatencySummary): string {
  const ms = (nanoseconds: number) => Math.round(nanoseconds / 1e6)
  return `n=${count} p50=${ms(p50)} p90=${ms(p90)} p99=${ms(p99)} p99.9=${ms(p999)} max=${ms(max)} ms`
}

export function residentMiB(pid: number): number {
  return Math.round(
    Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024,
  )
}

export type WebhookRows = { readonly deliveries: number; readonly open: number; readonly jobs: number }

export function countRows(ownerUrl: string): Promise<WebhookRows> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<WebhookRows>(
      `select (select count(*)::int from tallystick.webhook_deliveries) as deliveries,
        (select count(*)::int from tallystick.webhook_deliveries where state in ('pending', 'held')) as open,
        (select count(*)::int from tallystick_jobs.job where name = 'deliver-webhook') as jobs`,
    )
    return rows[0]!
  })
}

export function formatRows({ deliveries, open, jobs }: WebhookRows): string {
  return `rows: deliveries ${deliveries} (pending or held ${open}), jobs ${jobs}`
}
