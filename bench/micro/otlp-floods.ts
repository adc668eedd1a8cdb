/*
 * npm run bench -- otlp --floods [--windows 2] [--seconds 8] [--only NAME]
 *
 * Measures what a flood from one ledger costs the others. Three floods alternate: batches, OTLP with a trace for each
 * span, and OTLP with a large resource. Each has 16 requests in flight. Meanwhile another ledger writes records and
 * spans, one request after another, and /livez is read.
 */
import { fork } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Database } from '../database.ts'
import { post } from '../load/post.ts'
import { evaluate } from '../profile.ts'
import { deploy, startSystem } from '../system.ts'
import { printTable } from '../table.ts'
import { takeCpuSnapshot } from '../watch/cpu.ts'

const UNDER_WAY = 16
const TRACES = 5_000
const BATCH_RECORDS = 1_000
/** Size of the resource in bytes. A request of some kilobytes (compressed) then becomes 500 records of 60 KB. */
const RESOURCE_BYTES = 60_000
const RESOURCE_SPANS = 500

type Flood = { readonly name: string; readonly records: number; request(): Request }
type Request = {
  readonly path: string
  readonly body: Uint8Array | string
  readonly headers: Record<string, string>
}
type Plan = {
  readonly flood: string
  readonly url: string
  readonly bearer: string
  readonly seconds: number
}
type SentCounts = { readonly records: number; readonly refused: number }

const JSON_TYPE = { 'content-type': 'application/json' }
const time = '1790000000000000000'

/** A span with its own trace. `ids`: 24 bytes. */
function span(ids: Buffer) {
  return {
    ...{ traceId: ids.toString('hex', 0, 16), spanId: ids.toString('hex', 16), name: 'gen_ai.call' },
    ...{ startTimeUnixNano: time, endTimeUnixNano: time, flags: 1 },
  }
}

function spansRequest(count: number, resource: object, ids: () => Buffer): string {
  const spans = Array.from({ length: count }, () => span(ids()))
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] })
}

const randomIds = () => randomFillSync(Buffer.alloc(24))
const ofTrace = (trace: Buffer) => () => Buffer.concat([trace, randomFillSync(Buffer.alloc(8))])
const largeResource = {
  attributes: [{ key: 'text', value: { stringValue: 'all of it '.repeat(RESOURCE_BYTES / 10) } }],
}

const FLOODS: readonly Flood[] = [
  { name: 'nothing', records: 0, request: () => ({ path: '', body: '', headers: {} }) },
  {
    ...{ name: 'batches', records: BATCH_RECORDS },
    request: () => ({
      path: '/v1/records/batch',
      body: JSON.stringify({
        records: Array.from({ length: BATCH_RECORDS }, () => {
          const payload = { ...span(randomIds()), requestOptions: 'after' }
          return { type: 'generic/1', payload }
        }),
      }),
      headers: JSON_TYPE,
    }),
  },
  {
    ...{ name: 'one trace', records: TRACES },
    request: () => ({
      path: '/v1/traces',
      body: spansRequest(TRACES, {}, ofTrace(randomFillSync(Buffer.alloc(16)))),
      headers: JSON_TYPE,
    }),
  },
  {
    ...{ name: 'many traces', records: TRACES },
    request: () => ({
      path: '/v1/traces',
      body: spansRequest(TRACES, {}, randomIds),
      headers: JSON_TYPE,
    }),
  },
  {
    ...{ name: 'large resource', records: RESOURCE_SPANS },
    request: () => ({
      path: '/v1/traces',
      body: gzipSync(spansRequest(RESOURCE_SPANS, largeResource, ofTrace(randomFillSync(Buffer.alloc(16))))),
      headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    }),
  },
]

export async function runFloods(
  database: Database,
  options: { readonly windows: number; readonly seconds: number; readonly only: string | undefined },
): Promise<void> {
  const deployment = await deploy(database.ownerUrl)
  const system = await startSystem(deployment, { servers: 1, worker: true, inspect: true })
  try {
    const [server] = system.servers
    const { host, port } = system.targets[0]!
    const url = `http://${host}:${port}`
    const other = await post(system.targets[0]!, deployment.operatorKey, '/v1/ledgers', { name: 'quiet' })
    const quiet = other.key.key as string
    const inspected = await evaluate(server!)
    await inspected(`globalThis.loopDelay = process.getBuiltinModule('node:perf_hooks').monitorEventLoopDelay({ resolution: 5 });
      loopDelay.enable()`)
    // The first request starts a thread. It is therefore sent before the measurement.
    await (await fetch(`${url}/v1/traces`, told(quiet))).arrayBuffer()
    const chosen = FLOODS.filter(({ name }) => (options.only ?? name).split(',').includes(name))
    const rows: string[][] = []
    for (let window = 0; window < options.windows; window++)
      for (const flood of chosen) rows.push(await measure(flood))
    printTable([
      [
        ...['', 'records', 'refused', 'write p50 / p99', 'OTLP p50 / p99', '/livez p50 / p99'],
        ...['loop p50 / p99 / max', 'CPU us a record: server', 'Postgres'],
      ],
      ...rows,
    ])

    async function measure(flood: Flood): Promise<string[]> {
      const cpu = () =>
        takeCpuSnapshot({ processes: { server: [server!.pid] }, postmaster: database.postmaster })
      await inspected('loopDelay.reset()')
      const before = cpu()
      const until = performance.now() + options.seconds * 1_000
      const sending = sendFlood({ flood: flood.name, url, bearer: system.bearer, seconds: options.seconds })
      const [write, otlp, livez] = await Promise.all([
        repeat(until, () => fetch(`${url}/v1/records`, written(quiet))),
        repeat(until, () => fetch(`${url}/v1/traces`, told(quiet))),
        repeat(until, () => fetch(`${url}/livez`), 20),
      ])
      const sent = await sending
      const after = cpu()
      const loop = (await inspected(
        '[loopDelay.percentile(50), loopDelay.percentile(99), loopDelay.max].join()',
      )) as string
      const us = (name: string) =>
        Math.round((1e6 * (after.seconds[name]! - before.seconds[name]!)) / Math.max(1, sent.records))
      return [
        flood.name,
        sent.records.toLocaleString('en'),
        sent.refused.toLocaleString('en'),
        ...[write, otlp, livez].map(percentiles),
        loop
          .split(',')
          .map((ns) => Math.round(Number(ns) / 1e6))
          .join(' / '),
        String(us('server')),
        String(us('postgres')),
      ]
    }
  } finally {
    await system.stop()
    deployment.close()
  }
}

function written(bearer: string): RequestInit {
  const headers = { ...JSON_TYPE, authorization: `Bearer ${bearer}` }
  return {
    ...{ method: 'POST', headers },
    body: JSON.stringify({ type: 'generic/1', payload: { n: 1 } }),
  }
}

function told(bearer: string): RequestInit {
  const headers = { ...JSON_TYPE, authorization: `Bearer ${bearer}` }
  return { ...{ method: 'POST', headers }, body: spansRequest(2, {}, randomIds) }
}

/** Repeats a request until a time. Returns the milliseconds of each answer, refusals included. */
async function repeat(until: number, send: () => Promise<Response>, pauseMs = 0): Promise<number[]> {
  const taken: number[] = []
  while (performance.now() < until) {
    const beganAt = performance.now()
    await (await send()).arrayBuffer()
    taken.push(performance.now() - beganAt)
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return taken
}

function percentiles(taken: readonly number[]): string {
  const sorted = taken.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))]!)
  return `${at(0.5)} / ${at(0.99)}`
}

/** Runs the flood in a separate process, so that making the flood's requests does not delay the measured requests. */
function sendFlood(plan: Plan): Promise<SentCounts> {
  if (plan.flood === 'nothing')
    return new Promise((resolve) => setTimeout(resolve, plan.seconds * 1_000, { records: 0, refused: 0 }))
  const child = fork(new URL(import.meta.url), [], {
    execArgv: [],
    env: { ...process.env, FLOOD: JSON.stringify(plan) },
  })
  return new Promise((resolve, reject) => {
    child.on('message', (sent: SentCounts) => resolve(sent))
    child.on('exit', (code) => reject(new Error(`the flood ended with ${code}`)))
  })
}

async function flood({ flood: name, url, bearer, seconds }: Plan): Promise<SentCounts> {
  const { records, request } = FLOODS.find((one) => one.name === name)!
  const until = performance.now() + seconds * 1_000
  const sent = { records: 0, refused: 0 }
  await Promise.all(
    Array.from({ length: UNDER_WAY }, async () => {
      while (performance.now() < until) {
        const { path, body, headers } = request()
        const answer = await fetch(`${url}${path}`, {
          ...{ method: 'POST', body: body as string },
          headers: { ...headers, authorization: `Bearer ${bearer}` },
        })
        const text = await answer.text()
        if (answer.ok) sent.records += records
        else if (answer.status === 503) sent.refused += records
        else throw new Error(`${answer.status}: ${text}`)
      }
    }),
  )
  return sent
}

const plan = process.env['FLOOD']
if (plan !== undefined && process.send) process.send(await flood(JSON.parse(plan)), () => process.exit(0))
