import { withClient } from '../../src/db/connect/client.ts'
import type { Database } from '../database.ts'
import { runLoad } from '../load/load.ts'
import { get, post } from '../load/post.ts'
import { randomFrom } from '../load/random.ts'
import { makeOrder } from '../load/requests.ts'
import { printProfile } from '../print.ts'
import type { System } from '../system.ts'
import { printTable } from '../table.ts'
import { watchWindow } from '../watch/window.ts'

export type ListOptions = {
  readonly records: number
  readonly connections: number
  readonly seconds: number
  /** Part of a name. Only lists whose name contains it are measured. */
  readonly only: string
  readonly profile: boolean
  readonly outDir: string
}

type Ledger = {
  readonly bearer: string
  readonly agent: string
  readonly client: string
  ids: string[]
}

const SINGLES_IN_FLIGHT = 64
const BATCH_ITEMS = 1_000
const CURSORS = 50
const TRACE_ID = 'c0'.repeat(16)
const REFERENCE = 'erp:order/1'
const PAYLOAD_BYTES = 400

/**
 * Prints pages per second, and CPU time per page in µs, for lists of ten items. Uses keep-alive connections in a closed
 * loop, and one server without a worker.
 */
export async function measureLists(
  system: System,
  operatorKey: string,
  database: Database,
  options: ListOptions,
): Promise<void> {
  const rows = [
    ['10 a page', 'pages/s', 'p50 ms', 'p99', 'µs/page: server', 'postgres', 'load', 'others', 'KB/page'],
  ]
  for (const kind of ['single', 'batch'] as const) {
    const ledger = await makeLedger(system, operatorKey)
    await fill(system, ledger, kind, options.records)
    await withClient(database.ownerUrl, (client) => client.query('vacuum analyze'))
    for (const [name, paths] of Object.entries(await listsOf(system, ledger))) {
      const title = `${kind}: ${name}`
      if (title.includes(options.only))
        rows.push(await measure(system, database, ledger, title, paths, options))
    }
  }
  printTable(rows)
}

async function makeLedger({ targets: [target] }: System, operatorKey: string): Promise<Ledger> {
  const made = await post(target!, operatorKey, '/v1/ledgers', { name: 'lists' })
  const makeAgent = (_: unknown, i: number) =>
    post(target!, made.key.key, '/v1/agents', { name: `agent ${i}` })
  const [client] = await Promise.all(Array.from({ length: 12 }, makeAgent))
  await post(target!, made.key.key, '/v1/types', {
    name: 'order',
    version: 1,
    payloadSchema: { type: 'object' },
  })
  return { bearer: made.key.key, agent: made.agent.id, client: client.id, ids: [] }
}

/** Fills a ledger. Every third record matches the filters and is a child of the first record. */
async function fill(
  { targets: [target] }: System,
  ledger: Ledger,
  kind: 'single' | 'batch',
  records: number,
) {
  const random = randomFrom(records)
  const headers = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` }
  const item = (i: number) => ({
    type: i % 3 === 0 ? 'order/1' : 'generic/1',
    payload: makeOrder(PAYLOAD_BYTES, random),
    ...(i % 3 === 0 &&
      i > 0 && { parent: ledger.ids[0], references: [REFERENCE], onBehalfOf: ledger.client }),
  })
  let next = 0
  const send = async () => {
    if (kind === 'batch') {
      const items = Array.from({ length: Math.min(BATCH_ITEMS, records) }, () => item(next++))
      const answer = await post(target!, ledger.bearer, '/v1/records/batch', { records: items }, headers)
      ledger.ids.push(...answer.records.map(({ id }: { id: string }) => id))
    } else {
      ledger.ids.push((await post(target!, ledger.bearer, '/v1/records', item(next++), headers)).id)
    }
  }
  // The first record is the parent of the others.
  ledger.ids.push((await post(target!, ledger.bearer, '/v1/records', item(next++), headers)).id)
  const keepSending = async () => {
    while (next < records) await send()
  }
  await Promise.all(Array.from({ length: kind === 'batch' ? 1 : SINGLES_IN_FLIGHT }, keepSending))
}

async function listsOf({ targets: [target] }: System, ledger: Ledger): Promise<Record<string, string[]>> {
  const list = (query: object, of = 'records') =>
    `/v1/${of}?${new URLSearchParams({ limit: '10', ...query })}`
  const further = async (query: object) => {
    const paths: string[] = []
    for (let cursor = {}; paths.length < CURSORS; paths.push(list({ ...query, ...cursor })))
      cursor = { cursor: (await get(target!, ledger.bearer, list({ ...query, ...cursor }))).nextCursor }
    return paths
  }
  const filtered = async (query: object) => [list(query), ...(await further(query))]
  return {
    first: [list({})],
    further: await further({}),
    type: await filtered({ type: 'order/1' }),
    actor: await filtered({ actor: ledger.agent }),
    onBehalfOf: await filtered({ onBehalfOf: ledger.client }),
    traceId: await filtered({ traceId: TRACE_ID }),
    parent: await filtered({ parent: ledger.ids[0] }),
    reference: await filtered({ reference: REFERENCE }),
    agents: [list({}, 'agents')],
    'entries of one': [list({}, `records/${ledger.ids[0]}/entries`)],
    'one record by id': Array.from(
      { length: CURSORS },
      (_, i) => `/v1/records/${ledger.ids.at(-1 - i * Math.floor(ledger.ids.length / CURSORS))}`,
    ),
  }
}

async function measure(
  system: System,
  { postmaster }: Database,
  { bearer }: Ledger,
  title: string,
  paths: readonly string[],
  options: ListOptions,
): Promise<string[]> {
  const window = await watchWindow(system, postmaster, options)
  const { samples, ...load } = await runLoad(
    {
      targets: system.targets,
      connections: options.connections,
      pace: { kind: 'closed' },
      request: {
        bearers: [bearer],
        kind: 'get',
        paths,
        items: 1,
        payloadBytes: 0,
        idempotencyKeys: false,
        seed: 1,
      },
      warmUpMs: 700,
      durationMs: options.seconds * 1_000,
      drainMsMax: 5_000,
      sampleEvery: 97,
    },
    window,
  )
  const failed = samples.find(({ status }) => status !== 200)
  if (failed) throw new Error(`${title}: ${failed.status} ${failed.body}`)
  const cpu = window.cpu()
  const micros = (name: string) => ((cpu[name] ?? 0) * 1e6) / load.achievedPerSecond
  for (const profile of await window.profiles(`list-${title}`, load.achieved)) printProfile(profile)
  const bytes = samples.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0) / samples.length
  return [
    title,
    load.achievedPerSecond.toFixed(0),
    ...[load.latency.p50, load.latency.p99].map((ns) => (ns / 1e6).toFixed(2)),
    ...['server', 'postgres', 'load', 'others'].map((name) => micros(name).toFixed(0)),
    (bytes / 1_000).toFixed(1),
  ]
}
