import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../../src/db/connect/client.ts'
import { EVENTS_OF_KIND, type EventKind } from '../../../src/outside/events/event-types.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { startReceiver } from '../../helpers/webhook-receiver.ts'
import { Deployment, type Ledger } from './deployment.ts'
import { type RunningGatedClients, startGatedClients } from './gated-clients.ts'

type WebhookKillPlan = {
  readonly kills: number
  /** Clients of gated records; as many again record single ones. */
  readonly clients: number
  readonly ledgers: number
  readonly endpointsPerLedger: number
  /** Each kill comes at a random moment within so many milliseconds. */
  readonly loadMs: { readonly min: number; readonly max: number }
  /** In the end nobody waits for retries and for the leases of killed workers. */
  readonly hurry: boolean
}

export type WebhookKillOutcome = {
  /** Events that endpoints should have heard, over all endpoints. */
  readonly events: number
  readonly received: number
  /** Received again, for whatever reason; and of them those that were answered with a failure before. */
  readonly duplicates: number
  readonly retried: number
  readonly lost: number
  /** Received for the first time behind a later one of the same record. */
  readonly disordered: number
  /** Events that came with two ids, or ids that came with two events. */
  readonly unstable: number
  /** Received, and in no ledger. */
  readonly ghosts: number
  /** Requests that were under way at each kill. */
  readonly requestsHit: readonly number[]
}

type Listener = Awaited<ReturnType<typeof startListener>>

/** Longer than any wait before the second retry: what nobody heard after so long in which nothing came is lost. */
const QUIET_MS_MAX = 60_000
/** A kill waits so long for a request that it hits. */
const HIT_MS_MAX = 500
/** Share of events that the receivers fail at first, and their delay. */
const FAILURE_SHARE = 0.05
const ANSWER_MS_MAX = 25
const SINGLE_EVERY_MS_MAX = 150
const SLOW_SHARE = 0.005
const SLOW_MS = 2_500

/** Kills one of two worker processes that deliver, by turns and at random moments, and starts it again. */
export async function killWebhookWorkers(dir: string, plan: WebhookKillPlan): Promise<WebhookKillOutcome> {
  const deployment = await Deployment.start({ dir, apis: 1, worker: 2 })
  const listeners: Listener[] = []
  let clients: RunningGatedClients | null = null
  const state = { stopping: false }
  try {
    const ledgers = await deployment.createLedgers(plan.ledgers)
    clients = await startGatedClients(deployment.urls[0]!, ledgers, plan.clients)
    for (const ledger of ledgers)
      for (let i = 0; i < plan.endpointsPerLedger; i++)
        listeners.push(await startListener(deployment.urls[0]!, ledger))
    const singles = ledgers.flatMap((ledger) =>
      Array.from({ length: plan.clients / plan.ledgers }, () =>
        recordSingles(deployment.urls[0]!, ledger, state),
      ),
    )
    for (const single of singles) single.catch(() => {}) // reported below
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
    await settle(deployment.superuserUrl, listeners, plan.hurry)
    return reckon(listeners, requestsHit)
  } finally {
    state.stopping = true
    await clients?.abandon()
    for (const listener of listeners) await listener.close()
    await deployment.stop()
  }
}

/** An endpoint that hears of everything, and answers badly. */
async function startListener(url: string, { ledger, bearer }: Ledger) {
  const failed = new Set<string>()
  const seen = new Set<string>()
  let underWay = 0
  const receiver = await startReceiver(({ id }, response) => {
    const fails = !seen.has(id) && Math.random() < FAILURE_SHARE
    seen.add(id)
    if (fails) failed.add(id)
    underWay++
    const ms = Math.random() < SLOW_SHARE ? SLOW_MS : Math.random() * ANSWER_MS_MAX
    setTimeout(() => {
      underWay--
      response.writeHead(fails ? 500 : 204).end()
    }, ms)
  })
  const made = await post(url, bearer, '/v1/webhooks', { url: receiver.url, events: ['*'] })
  const startSeq: number = made.standing.nextSeq
  let expected = new Map<string, string | null>()
  return {
    received: receiver.received,
    failed,
    underWay: () => underWay,
    close: () => receiver.close(),
    /** Events that it should have heard by now, by name, and their records. */
    async expect(superuserUrl: string): Promise<ReadonlyMap<string, string | null>> {
      expected = await readExpected(superuserUrl, ledger, startSeq)
      return expected
    },
    get expected(): ReadonlyMap<string, string | null> {
      return expected
    },
    startSeq,
  }
}

async function recordSingles(url: string, { bearer }: Ledger, state: { stopping: boolean }): Promise<void> {
  for (let n = 0; !state.stopping; n++) {
    await post(url, bearer, '/v1/records', { type: 'generic/1', payload: { n } })
    await sleep(Math.random() * SINGLE_EVERY_MS_MAX)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what the API answers
async function post(url: string, bearer: string, path: string, body: object): Promise<any> {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  const send = () => fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  // A kept connection may have ended just now: this process has much to do.
  const response = await send().catch(send)
  const text = await response.text()
  if (response.status !== 201) throw new Error(`${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}

/** From the entries, not from what the product says of its events. */
async function readExpected(
  url: string,
  ledger: string,
  startSeq: number,
): Promise<Map<string, string | null>> {
  return withClient(url, async (client) => {
    const values = [parseId('led', ledger), startSeq]
    const entries = await client.query<{ seq: number; kind: string; recordId: string | null }>(
      `select seq, kind, case when version is not null and kind <> 'batch-notarized' then subject_id end as record_id
       from tallystick.entries where ledger_id = $1 and seq >= $2 order by seq`,
      values,
    )
    const checkpoints = await client.query<{ size: number }>(
      'select size from tallystick.checkpoints where ledger_id = $1 and size > $2',
      values,
    )
    const names = new Map<string, string | null>()
    for (const { seq, kind, recordId } of entries.rows)
      for (const type of EVENTS_OF_KIND[kind as EventKind] ?? []) names.set(`${seq} ${type}`, recordId)
    for (const { size } of checkpoints.rows) names.set(`${size - 1} checkpoint.published`, null)
    return names
  })
}

/** Until each has heard all; or nothing comes any more. */
async function settle(url: string, listeners: readonly Listener[], hurry: boolean): Promise<void> {
  let heardBefore = 0
  for (let quietSince = Date.now(); Date.now() - quietSince < QUIET_MS_MAX; await sleep(200)) {
    const heardNow = listeners.reduce((sum, { received }) => sum + received.length, 0)
    if (heardNow > heardBefore) quietSince = Date.now()
    heardBefore = heardNow
    const missing = await Promise.all(
      listeners.map(async (listener) => {
        const heard = new Set(listener.received.map(({ event }) => nameOf(event)))
        return [...(await listener.expect(url)).keys()].some((name) => !heard.has(name))
      }),
    )
    const open = await countOpen(url)
    if (open === 0 && !missing.includes(true)) return
    if (hurry) await letTimePass(url)
  }
}

async function countOpen(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      "select count(*)::int as count from tallystick.webhook_deliveries where state in ('pending', 'held')",
    )
    return rows[0]!.count
  })
}

async function letTimePass(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(
      `update tallystick.webhook_deliveries set due_at = now()
       where state = 'pending' and due_at between now() and now() + interval '1 minute'`,
    )
    // Renewed every 2 s where somebody is at work.
    await client.query(
      `update tallystick.webhook_cursors set due_at = now(), resume_at = null,
         leased_until = case when leased_until < now() + interval '7 s' then now() else leased_until end`,
    )
  })
}

function reckon(listeners: readonly Listener[], requestsHit: readonly number[]): WebhookKillOutcome {
  const sum = (count: (listener: Listener) => number) => listeners.reduce((all, one) => all + count(one), 0)
  return {
    events: sum(({ expected }) => expected.size),
    received: sum(({ received }) => received.length),
    duplicates: sum(
      ({ received }) => received.length - new Set(received.map(({ event }) => nameOf(event))).size,
    ),
    retried: sum(({ failed }) => failed.size),
    lost: sum(countLost),
    disordered: sum(countDisordered),
    unstable: sum(countUnstable),
    ghosts: sum(countGhosts),
    requestsHit,
  }
}

function countLost({ expected, received }: Listener): number {
  const heard = new Set(received.map(({ event }) => nameOf(event)))
  return [...expected.keys()].filter((name) => !heard.has(name)).length
}

/** A checkpoint that was published while the endpoint was made may be heard or not. */
function countGhosts({ expected, received, startSeq }: Listener): number {
  return received.filter(({ event }) => {
    const isOld = event.type === 'checkpoint.published' && event.data.checkpoint.size <= startSeq
    return !expected.has(nameOf(event)) && !isOld
  }).length
}

function countDisordered({ expected, received }: Listener): number {
  const order = [...expected.keys()]
  const placeOf = new Map(order.map((name, place) => [name, place]))
  const heard = new Set<string>()
  const lastOf = new Map<string, number>()
  let disordered = 0
  for (const { event } of received) {
    const name = nameOf(event)
    const record = expected.get(name)
    if (heard.has(name) || !record) continue
    heard.add(name)
    const place = placeOf.get(name)!
    if (place < (lastOf.get(record) ?? -1)) disordered++
    else lastOf.set(record, place)
  }
  return disordered
}

function countUnstable({ received }: Listener): number {
  const pairs = new Set(received.map(({ id, event }) => `${id} ${nameOf(event)}`))
  const ids = new Set(received.map(({ id }) => id))
  const names = new Set(received.map(({ event }) => nameOf(event)))
  return 2 * pairs.size - ids.size - names.size
}

// biome-ignore lint/suspicious/noExplicitAny: what was received
function nameOf({ type, data }: any): string {
  return `${data.entry?.seq ?? data.checkpoint.size - 1} ${type}`
}

export function formatWebhookKills(outcome: WebhookKillOutcome): string {
  const { events, received, duplicates, retried, requestsHit, lost, disordered, unstable, ghosts } = outcome
  return (
    `events=${events} received=${received} duplicates=${duplicates} (${retried} after a failure) kills=${requestsHit.length} ` +
    `lost=${lost} disordered=${disordered} ids=${unstable === 0 ? 'stable' : `${unstable} unstable`} ghosts=${ghosts}; ` +
    `requests under way at each kill: ${requestsHit.join(', ')}`
  )
}
