import { setTimeout as sleep } from 'node:timers/promises'
import { EVENTS_OF_KIND, type EventKind } from '../../../src/outside/events/event-types.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { startReceiver } from '../../helpers/webhook-receiver.ts'
import type { Ledger } from '../deployment/deployment.ts'
import { withPatientClient } from '../deployment/processes.ts'

export type WebhookReckoning = {
  readonly events: number
  readonly received: number
  /**
   * `duplicates` is the number of events that were received again, for any reason. `retried` is the number of events
   * whose first answer was a failure.
   */
  readonly duplicates: number
  readonly retried: number
  readonly lost: number
  readonly disordered: number
  /** Number of events that came with two ids, plus the number of ids that came with two events. */
  readonly unstable: number
  readonly ghosts: number
}

/** An event as an endpoint received it. `name` is unique in its ledger. */
type Heard = { readonly id: string; readonly name: string; readonly checkpointSize: number | null }

export type Listener = Awaited<ReturnType<typeof startListener>>

/**
 * Time in ms without a delivery after which missing events count as lost. The time is longer than any wait before the
 * second retry.
 */
const QUIET_MS_MAX = 60_000
/** Share of events that the receivers answer with a failure at first, and the delays of answers. */
const FAILURE_SHARE = 0.05
const ANSWER_MS_MAX = 25
const SLOW_SHARE = 0.005
const SLOW_MS = 2_500

/** Starts an endpoint that receives all events. It answers some of them late or with a failure. */
export async function startListener(url: string, { ledger, bearer }: Ledger) {
  const failed = new Set<string>()
  const seen = new Set<string>()
  const received: Heard[] = []
  let underWay = 0
  const receiver = await startReceiver(({ id, event }, response) => {
    // Only the names of events are stored, because there are many events and each contains its record.
    receiver.received.length = 0
    received.push({ id, name: nameOf(event), checkpointSize: event.data.checkpoint?.size ?? null })
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
  const made = await postPatiently(url, bearer, '/v1/webhooks', { url: receiver.url, events: ['*'] })
  const startSeq: number = made.standing.nextSeq
  let expected = new Map<string, string | null>()
  return {
    received,
    failed,
    underWay: () => underWay,
    close: () => receiver.close(),
    /** Reads the events that the endpoint should have received by now. Returns their names with their records. */
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

// biome-ignore lint/suspicious/noExplicitAny: what the API answers
export async function postPatiently(url: string, bearer: string, path: string, body: object): Promise<any> {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  const send = () => fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  // Repeats the request once, because a keep-alive connection may have ended while this process was busy.
  const response = await send().catch(send)
  const text = await response.text()
  if (response.status !== 201) throw new Error(`${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}

/** Reads the expected events from the entries, independently of the product's code for events. */
async function readExpected(
  url: string,
  ledger: string,
  startSeq: number,
): Promise<Map<string, string | null>> {
  return withPatientClient(url, async (client) => {
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

export async function settleWebhooks(
  url: string,
  listeners: readonly Listener[],
  hurry: boolean,
): Promise<void> {
  let heardBefore = 0
  for (let quietSince = Date.now(); Date.now() - quietSince < QUIET_MS_MAX; await sleep(200)) {
    const heardNow = listeners.reduce((sum, { received }) => sum + received.length, 0)
    if (heardNow > heardBefore) quietSince = Date.now()
    heardBefore = heardNow
    const missing = await Promise.all(
      listeners.map(async (listener) => {
        const heard = new Set(listener.received.map(({ name }) => name))
        return [...(await listener.expect(url)).keys()].some((name) => !heard.has(name))
      }),
    )
    const open = await countOpen(url)
    if (open === 0 && !missing.includes(true)) return
    if (hurry) await letTimePass(url)
  }
}

async function countOpen(url: string): Promise<number> {
  return withPatientClient(url, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      "select count(*)::int as count from tallystick.webhook_deliveries where state in ('pending', 'held')",
    )
    return rows[0]!.count
  })
}

async function letTimePass(url: string): Promise<void> {
  await withPatientClient(url, async (client) => {
    await client.query(
      `update tallystick.webhook_deliveries set due_at = now()
       where state = 'pending' and due_at between now() and now() + interval '1 minute'`,
    )
    // Ends only leases that are about to expire, because a working sender renews its lease every 2 s.
    await client.query(
      `update tallystick.webhook_cursors set due_at = now(), resume_at = null,
         leased_until = case when leased_until < now() + interval '7 s' then now() else leased_until end`,
    )
  })
}

type Reckoned = Pick<Listener, 'expected' | 'received' | 'failed' | 'startSeq'>

export function reckonWebhooks(listeners: readonly Reckoned[]): WebhookReckoning {
  const sum = (count: (listener: Reckoned) => number) => listeners.reduce((all, one) => all + count(one), 0)
  return {
    events: sum(({ expected }) => expected.size),
    received: sum(({ received }) => received.length),
    duplicates: sum(({ received }) => received.length - new Set(received.map(({ name }) => name)).size),
    retried: sum(({ failed }) => failed.size),
    lost: sum(countLost),
    disordered: sum(countDisordered),
    unstable: sum(countUnstable),
    ghosts: sum(countGhosts),
  }
}

function countLost({ expected, received }: Reckoned): number {
  const heard = new Set(received.map(({ name }) => name))
  return [...expected.keys()].filter((name) => !heard.has(name)).length
}

/**
 * Counts received events that were not expected. A checkpoint that was published while the endpoint was created may be
 * delivered or not, so it does not count.
 */
function countGhosts({ expected, received, startSeq }: Reckoned): number {
  return received.filter(({ name, checkpointSize }) => {
    const isOld = checkpointSize !== null && checkpointSize <= startSeq
    return !expected.has(name) && !isOld
  }).length
}

function countDisordered({ expected, received }: Reckoned): number {
  const order = [...expected.keys()]
  const placeOf = new Map(order.map((name, place) => [name, place]))
  const heard = new Set<string>()
  const lastOf = new Map<string, number>()
  let disordered = 0
  for (const { name } of received) {
    const record = expected.get(name)
    if (heard.has(name) || !record) continue
    heard.add(name)
    const place = placeOf.get(name)!
    if (place < (lastOf.get(record) ?? -1)) disordered++
    else lastOf.set(record, place)
  }
  return disordered
}

function countUnstable({ received }: Reckoned): number {
  const pairs = new Set(received.map(({ id, name }) => `${id} ${name}`))
  const ids = new Set(received.map(({ id }) => id))
  const names = new Set(received.map(({ name }) => name))
  return 2 * pairs.size - ids.size - names.size
}

// biome-ignore lint/suspicious/noExplicitAny: what was received
function nameOf({ type, data }: any): string {
  return `${data.entry?.seq ?? data.checkpoint.size - 1} ${type}`
}

export function formatWebhooks(reckoning: WebhookReckoning): string {
  const { events, received, duplicates, retried, lost, disordered, unstable, ghosts } = reckoning
  return (
    `events=${events} received=${received} duplicates=${duplicates} (${retried} after a failure) ` +
    `lost=${lost} disordered=${disordered} ids=${unstable === 0 ? 'stable' : `${unstable} unstable`} ghosts=${ghosts}`
  )
}
