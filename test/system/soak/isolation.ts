import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadPlan } from '../../../bench/load/load.ts'
import { runLoad } from '../../../bench/load/load.ts'
import type { LatencySummary } from '../../../cli/preflight/latencies.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { Deployment, type Ledger } from '../deployment/deployment.ts'
import { formatLoad } from '../faults/kill.ts'
import {
  COSTLY_TYPES,
  type CostlyRequest,
  hostileRequest,
  LARGE,
  plainRequest,
  SMALL,
} from './costly-requests.ts'
import { formatLatency, measureBusyPercent, planLoad, requireClean } from './load-on.ts'

const PROBES_PER_SECOND = 100
/** Maximum ratio of two latencies of the quiet ledger: its p99 beside a neighbour, and its p99 alone. */
const RATIO_MAX = 2
const LEAD_MS = 1_000
const BATCH_ITEMS = 2_000

export type IsolationPlan = {
  readonly records: number
  readonly probeMs: number
  readonly only: readonly string[] | null
}

/** Works until the signal aborts. Returns a description of its work. */
type Neighbour = (until: AbortSignal) => Promise<string>

/**
 * Runs one server. A client notarizes in a quiet ledger at a low constant rate. The latency of a record counts from the
 * time when it was due. The client first runs alone. Then it runs next to another ledger that does one thing as fast as
 * possible.
 */
export async function isolation({ records, probeMs, only }: IsolationPlan): Promise<void> {
  console.log(`isolation: the machine is ${await measureBusyPercent()} % busy before it begins`)
  const deployment = await Deployment.start({ dir: temporaryDir(), apis: 1, worker: true })
  try {
    const [noisy, quiet] = await deployment.createLedgers(2)
    const url = deployment.urls[0]!
    for (const body of COSTLY_TYPES) await send(url, noisy!, { path: '/v1/types', body })
    await fill(url, noisy!, records)
    await probe(url, quiet!, 2_000)
    const alone = await probe(url, quiet!, probeMs)
    console.log(`isolation: alone: ${formatLatency(alone)}`)
    for (const [name, neighbour] of Object.entries(neighboursOf(url, noisy!, probeMs + 2 * LEAD_MS))) {
      if (only && !only.includes(name)) continue
      const stop = new AbortController()
      const working = neighbour(stop.signal)
      await sleep(LEAD_MS)
      const beside = await probe(url, quiet!, probeMs).finally(() => stop.abort())
      const ratio = beside.p99 / alone.p99
      console.log(`isolation: beside ${name}: ${formatLatency(beside)}; p99 / alone = ${ratio.toFixed(2)}`)
      console.log(`  the other: ${await working}; ${formatLoad()}`)
      if (ratio > RATIO_MAX) process.exitCode = 1
    }
  } finally {
    await deployment.stop()
  }
}

function neighboursOf(url: string, ledger: Ledger, durationMs: number): Readonly<Record<string, Neighbour>> {
  const list = (query: object) => `/v1/records?${new URLSearchParams({ limit: '50', ...query })}`
  const searches = [
    list({}),
    list({ type: 'generic/1' }),
    list({ state: 'RECORDED' }),
    list({ order: 'asc' }),
  ]
  return {
    'a busy ledger': () => load(url, ledger, { connections: 128, items: 1, durationMs }),
    'batches of 2,000': () => load(url, ledger, { connections: 4, items: 2_000, durationMs }),
    'hostile types': (until) => clients(16, until, (n) => send(url, ledger, hostileRequest(SMALL)(n))),
    'hostile types, 60 KB': (until) => clients(16, until, (n) => send(url, ledger, hostileRequest(LARGE)(n))),
    'documents of 60 KB': (until) => clients(16, until, (n) => send(url, ledger, plainRequest(n))),
    exports: (until) => clients(4, until, () => ask(`${url}/v1/export`, ledger, null, until)),
    searches: (until) => clients(32, until, (n) => ask(url + searches[n % 4]!, ledger, null)),
  }
}

/** Runs a closed loop of single records or batches in a separate process, until it ends by itself. */
async function load(
  url: string,
  ledger: Ledger,
  { connections, items, durationMs }: { connections: number; items: number; durationMs: number },
): Promise<string> {
  const plan = planLoad([url], [ledger], { connections, pace: { kind: 'closed' }, durationMs, seed: items })
  const kind = items === 1 ? 'record' : 'batch'
  const request: LoadPlan['request'] = { ...plan.request, kind, items }
  const result = await runLoad({ ...plan, request, warmUpMs: 500 })
  return `${Math.round(result.itemsPerSecond)} records/s, ${formatLatency(result.latency)}`
}

/** Runs clients that send one request after another. Returns the number of answers with each status. */
async function clients(
  count: number,
  until: AbortSignal,
  work: (n: number) => Promise<number>,
): Promise<string> {
  const statuses: Record<number, number> = {}
  const one = async (client: number) => {
    for (let n = client; !until.aborted; n += count) {
      const status = await work(n)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: count }, (_, client) => one(client)))
  return JSON.stringify(statuses)
}

/** Serialized bodies. The load generator shares the server's cores, so a repeated body is serialized only once. */
const texts = new WeakMap<object, string>()

function send(url: string, ledger: Ledger, { path, body }: CostlyRequest): Promise<number> {
  const text = texts.get(body) ?? JSON.stringify(body)
  texts.set(body, text)
  return ask(url + path, ledger, text)
}

const agent = new Agent({ keepAlive: true })

/** Resolves with the status when the whole answer has arrived. Also ends when the signal aborts. */
function ask(url: string, { bearer }: Ledger, body: string | null, until?: AbortSignal): Promise<number> {
  const headers = { authorization: `Bearer ${bearer}`, ...(body && { 'content-type': 'application/json' }) }
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { agent, method: body ? 'POST' : 'GET', headers }, (response) => {
      response.resume().on('close', () => resolve(response.statusCode!))
      until?.addEventListener('abort', () => response.destroy())
    })
    sent.on('error', reject).end(body)
  })
}

async function fill(url: string, ledger: Ledger, records: number): Promise<void> {
  const item = (i: number) => ({ type: 'generic/1', payload: { i, tool: 'search', note: 'x'.repeat(300) } })
  let next = 0
  const keepSending = async () => {
    while (next < records) {
      const first = next
      next += BATCH_ITEMS
      const body = { records: Array.from({ length: BATCH_ITEMS }, (_, i) => item(first + i)) }
      const status = await send(url, ledger, { path: '/v1/records/batch', body })
      if (status !== 201) throw new Error(`a batch was answered ${status}`)
    }
  }
  await Promise.all([keepSending(), keepSending()])
}

async function probe(url: string, ledger: Ledger, durationMs: number): Promise<LatencySummary> {
  const pace = { kind: 'arrival', perSecond: PROBES_PER_SECOND, backlogMax: 1_000 } as const
  const plan = planLoad([url], [ledger], { connections: 16, pace, durationMs, seed: Date.now() % 1e6 })
  const result = await runLoad({ ...plan, warmUpMs: 500 })
  requireClean('isolation', result)
  return result.latency
}
