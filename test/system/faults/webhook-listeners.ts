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
  /** Descriptions of the ghosts, one line each (`describeGhost`). */
  readonly ghostLines: readonly string[]
}

/**
 * An event as an endpoint received it. `name`: position, type and the digest of the entry or the tree (`nameOf`). If a
 * failover replaces an entry, the new entry's event has another name. `atMs`: time of receipt, in Unix ms.
 */
export type Heard = {
  readonly id: string
  readonly name: string
  readonly record: string | null
  readonly checkpointSize: number | null
  readonly atMs: number
}

/** Entries and checkpoints of a ledger, from the position at which its endpoint was created. */
export type Stored = {
  /** Events that the endpoint receives, by name, with their records. */
  readonly events: ReadonlyMap<string, string | null>
  /** Kinds of the entries, by seq. */
  readonly kinds: ReadonlyMap<number, string>
  /** Sizes of the checkpoints, smallest first. */
  readonly checkpoints: readonly number[]
}

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
const GHOSTS_SHOWN_MAX = 20

/** Starts an endpoint that receives all events. It answers some of them late or with a failure. */
export async function startListener(url: string, { ledger, bearer }: Ledger) {
  const failed = new Set<string>()
  const seen = new Set<string>()
  const received: Heard[] = []
  let underWay = 0
  const receiver = await startReceiver(({ id, event, atMs }, response) => {
    // Only the names of events are stored, because there are many events and each contains its record.
    receiver.received.length = 0
    const { record, checkpoint } = event.data
    received.push({
      id,
      name: nameOf(event),
      record: record?.id ?? null,
      checkpointSize: checkpoint?.size ?? null,
      atMs,
    })
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
  return {
    ledger,
    received,
    failed,
    startSeq,
    underWay: () => underWay,
    close: () => receiver.close(),
    read: (superuserUrl: string) => readStored(superuserUrl, ledger, startSeq),
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

/** Derives the events from the entries, independently of the product's code for events. */
async function readStored(url: string, ledger: string, startSeq: number): Promise<Stored> {
  return withPatientClient(url, async (client) => {
    const values = [parseId('led', ledger), startSeq]
    const entries = await client.query<{ seq: number; kind: string; leaf: string; recordId: string | null }>(
      `select seq, kind, encode(leaf, 'hex') as leaf,
         case when version is not null and kind <> 'batch-notarized' then subject_id end as record_id
       from tallystick.entries where ledger_id = $1 and seq >= $2 order by seq`,
      values,
    )
    const checkpoints = await client.query<{ size: number; root: Buffer }>(
      'select size, root from tallystick.checkpoints where ledger_id = $1 and size > $2 order by size',
      values,
    )
    const events = new Map<string, string | null>()
    for (const { seq, kind, leaf, recordId } of entries.rows)
      for (const type of EVENTS_OF_KIND[kind as EventKind] ?? [])
        events.set(`${seq} ${type} ${leaf}`, recordId)
    for (const { size, root } of checkpoints.rows)
      events.set(`${size - 1} checkpoint.published ${root.toString('hex')}`, null)
    return {
      events,
      kinds: new Map(entries.rows.map(({ seq, kind }) => [seq, kind])),
      checkpoints: checkpoints.rows.map(({ size }) => size),
    }
  })
}

/**
 * Waits until the endpoints have received all events, or receive nothing for a long time. Returns the deliveries until
 * then, with the contents of the ledgers.
 *
 * The worker may publish and deliver a checkpoint after that. So later deliveries are not in the result, and the
 * ledgers are read again after the last delivery in the result. Otherwise a late checkpoint would look like a ghost.
 */
export async function settleWebhooks(
  url: string,
  listeners: readonly Listener[],
  hurry: boolean,
): Promise<readonly Reckoned[]> {
  const hear = async (listener: Listener) => {
    const expected = await listener.read(url)
    return { listener, expected: expected.events, received: [...listener.received] }
  }
  const reckonable = async (heard: readonly Awaited<ReturnType<typeof hear>>[]) =>
    Promise.all(
      heard.map(async ({ listener, ...rest }) => {
        const { ledger, failed, startSeq } = listener
        return { ...rest, ledger, failed: new Set(failed), startSeq, stored: await listener.read(url) }
      }),
    )
  let heardBefore = 0
  for (let quietSince = Date.now(); ; await sleep(200)) {
    const heard = await Promise.all(listeners.map(hear))
    const open = await countOpen(url)
    const isComplete = open === 0 && heard.every((one) => countLost(one) === 0)
    const heardNow = heard.reduce((sum, { received }) => sum + received.length, 0)
    if (heardNow > heardBefore) quietSince = Date.now()
    heardBefore = heardNow
    if (isComplete || Date.now() - quietSince > QUIET_MS_MAX) return reckonable(heard)
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

export type Reckoned = Pick<Listener, 'ledger' | 'startSeq'> & {
  /** Events that were stored before the last delivery in `received`. The endpoint must have received them. */
  readonly expected: Stored['events']
  readonly received: readonly Heard[]
  readonly failed: ReadonlySet<string>
  /** Contents of the ledger after the last delivery in `received`. The endpoint must have received nothing else. */
  readonly stored: Stored
}

export function reckonWebhooks(all: readonly Reckoned[]): WebhookReckoning {
  const sum = (count: (one: Reckoned) => number) => all.reduce((total, one) => total + count(one), 0)
  const ghostLines = all.flatMap((one) => findGhosts(one).map((ghost) => describeGhost(one, ghost)))
  return {
    events: sum(({ expected }) => expected.size),
    received: sum(({ received }) => received.length),
    duplicates: sum(({ received }) => received.length - new Set(received.map(({ name }) => name)).size),
    retried: sum(({ failed }) => failed.size),
    lost: sum(countLost),
    disordered: sum(countDisordered),
    unstable: sum(countUnstable),
    ghosts: ghostLines.length,
    ghostLines,
  }
}

function countLost({ expected, received }: Pick<Reckoned, 'expected' | 'received'>): number {
  const heard = new Set(received.map(({ name }) => name))
  return [...expected.keys()].filter((name) => !heard.has(name)).length
}

/**
 * Returns the received events that are not in the ledger. A checkpoint that was published while the endpoint was
 * created may be delivered or not, so it is no ghost.
 */
function findGhosts({ stored, received, startSeq }: Reckoned): Heard[] {
  return received.filter(({ name, checkpointSize }) => {
    const isOld = checkpointSize !== null && checkpointSize <= startSeq
    return !stored.events.has(name) && !isOld
  })
}

/** Describes a ghost, and what the ledger has at its position instead. */
function describeGhost({ ledger, stored, startSeq, received }: Reckoned, ghost: Heard): string {
  const { id, name, record, checkpointSize, atMs } = ghost
  const seq = Number(name.split(' ')[0])
  const times = received.filter((other) => other.name === name).length
  const size = Math.max(startSeq, ...[...stored.kinds.keys()].map((at) => at + 1))
  const { checkpoints } = stored
  const beside =
    checkpointSize === null
      ? ''
      : `, checkpoints of ${checkpoints.findLast((one) => one < checkpointSize) ?? 'none'} and ${checkpoints.find((one) => one > checkpointSize) ?? 'none'} beside it`
  return (
    `ghost: ${ledger} ${name}${record ? ` of ${record}` : ''}, id ${id}, received ${times} times, here at ` +
    `${new Date(atMs).toISOString()}; the ledger has ${stored.kinds.get(seq) ?? 'nothing'} at ${seq}, ${size} entries${beside}`
  )
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

/** Returns the name of a received event. The third line of a checkpoint's note is the root of its tree. */
// biome-ignore lint/suspicious/noExplicitAny: what was received
function nameOf({ type, data: { entry, checkpoint } }: any): string {
  if (entry) return `${entry.seq} ${type} ${entry.leaf}`
  const root = Buffer.from(checkpoint.note.split('\n')[2], 'base64')
  return `${checkpoint.size - 1} ${type} ${root.toString('hex')}`
}

export function formatWebhooks(reckoning: WebhookReckoning): string {
  const { events, received, duplicates, retried, lost, disordered, unstable, ghosts, ghostLines } = reckoning
  return [
    `events=${events} received=${received} duplicates=${duplicates} (${retried} after a failure) ` +
      `lost=${lost} disordered=${disordered} ids=${unstable === 0 ? 'stable' : `${unstable} unstable`} ghosts=${ghosts}`,
    ...ghostLines.slice(0, GHOSTS_SHOWN_MAX).map((line) => `    ${line}`),
  ].join('\n')
}
