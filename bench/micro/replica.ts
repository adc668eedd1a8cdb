/*
 * npm run bench -- replica [-- --checked 1000000]
 *
 * Measures the gain from a replica, and checks that no writer reads a state older than its own write. It runs a primary
 * and a standby of the system's Postgres on this machine. One server reads from the standby, one reads only from the
 * primary, and writers run all the time.
 *
 * `--checked`: number of reads that demand a known size (100,000 by default). For comparison, some more reads (a fifth
 * of this number) demand no size. Some of these must return an older state. Otherwise the standby was never behind, and
 * the run proves nothing.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { migrate } from '../../src/db/schema/migrate.ts'
import { clusterDir } from '../../src/run/postgres/layout.ts'
import { resolveRunAs } from '../../src/run/postgres/run-as.ts'
import { type RunningPostgres, startPostgres } from '../../src/run/postgres/start.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { environmentOf } from '../../test/system/deployment/environment.ts'
import { findPort } from '../../test/system/deployment/processes.ts'
import type { ProductProcess } from '../../test/system/deployment/product-process.ts'
import { findSystemBinaries } from '../database.ts'
import { startMeasured } from '../system.ts'
import { printTable } from '../table.ts'
import { scrapeAll } from '../watch/metrics.ts'

const MASTER_KEY = new Uint8Array(32)
const OPERATOR_KEY = `tlo_${'b'.repeat(40)}`
const PASSWORDS = { api: 'bench-api', worker: 'bench-worker' }
const CHECKED_DEFAULT = 100_000
const ROUNDS = 3
const RECORDS = 2_000
const READERS = 16
const WRITERS = 2
const WRITE_PAUSE_MS = 20
/** Lag of the standby in ms. Without this delay, a standby on the same machine would lag less than a read takes. */
const APPLY_DELAY_MS = 1_000

type Server = { readonly url: string; readonly metricsPort: number; readonly process: ProductProcess }
type Answer = { readonly status: number; readonly size: number; readonly text: string }

const agent = new http.Agent({ keepAlive: true, maxSockets: 256 })

async function main(checked: number, roundMs: number): Promise<void> {
  const binDir = findSystemBinaries()
  if (binDir === null)
    throw new Error('this needs the Postgres of the system, because its pg_basebackup makes the standby')
  const primary = await startPostgres({ dataDir: makeDir(), binDir, temporary: true, log: () => {} })
  const ownerUrl = primary.ownerUrl
  await migrate({ ownerUrl, masterKey: makeMasterKey(MASTER_KEY), passwords: PASSWORDS })
  const standby = await startStandby(primary, binDir)
  const alone = await startServer(apiUrl(primary))
  const replicated = await startServer(apiUrl(primary), apiUrl(standby))
  const stopping = new AbortController()
  try {
    const key = await makeLedger(alone.url)
    const ids = await fill(alone.url, key)
    const written = new Sizes()
    const writing = inParallel(WRITERS, () => write(alone.url, key, written, stopping.signal))
    const measuring = async () => {
      await comparePairs({ alone, replicated }, { key, ids, roundMs })
      await countStale(replicated, key, written, checked)
      stopping.abort()
    }
    await Promise.all([measuring(), writing])
  } finally {
    stopping.abort()
    for (const { process } of [alone, replicated]) await process.stop()
    agent.destroy()
    await standby.stop('immediate')
    await primary.stop('immediate')
  }
}

/** Prints reads per second through each of the two servers, which alternate while writers run. */
async function comparePairs(
  { alone, replicated }: Record<'alone' | 'replicated', Server>,
  { key, ids, roundMs }: { key: string; ids: readonly string[]; roundMs: number },
): Promise<void> {
  const rows: string[][] = []
  for (const [what, path] of [
    ['one record by id', () => `/v1/records/${ids[Math.floor(Math.random() * ids.length)]}`],
    ['a page of 20 records', () => '/v1/records?limit=20'],
  ] as const) {
    const rates: Record<'alone' | 'replicated', number[]> = { alone: [], replicated: [] }
    for (let round = 0; round < ROUNDS; round++)
      for (const [name, { url }] of [
        ['alone', alone],
        ['replicated', replicated],
      ] as const)
        rates[name].push(await readFor(url, key, path, roundMs))
    rows.push([what, ...[rates.alone, rates.replicated].map((each) => median(each).toFixed(0))])
  }
  printTable([['reads a second', 'primary alone', 'with a replica'], ...rows])
}

async function readFor(url: string, key: string, path: () => string, ms: number): Promise<number> {
  const endsAtMs = performance.now() + ms
  let reads = 0
  await inParallel(READERS, async () => {
    while (performance.now() < endsAtMs) {
      await ask(url, path(), { key })
      reads++
    }
  })
  return (reads * 1_000) / ms
}

/** Sizes of the ledger that writers got in their answers. */
class Sizes {
  readonly #acknowledged: { readonly at: number; readonly size: number }[] = []

  add(size: number): void {
    if (size > (this.#acknowledged.at(-1)?.size ?? 0))
      this.#acknowledged.push({ at: performance.now(), size })
  }

  /** Returns the newest size that a writer knew this many milliseconds ago. */
  ago(ms: number): number {
    const at = performance.now() - ms
    return this.#acknowledged.findLast((told) => told.at <= at)?.size ?? 0
  }
}

/**
 * Counts reads that return an older state than demanded. Each read gets the newest record and demands the size of an
 * earlier write. That write is up to twice the standby's lag old, so the standby can answer half of the reads.
 */
async function countStale(
  { url, metricsPort }: Server,
  key: string,
  written: Sizes,
  checked: number,
): Promise<void> {
  await sleep(2 * APPLY_DELAY_MS)
  const count = async (total: number, demands: boolean) => {
    let [left, stale] = [total, 0]
    const before = await readSources(metricsPort)
    await inParallel(READERS, async () => {
      while (left-- > 0) {
        const known = written.ago(Math.random() * 2 * APPLY_DELAY_MS)
        const { text } = await ask(url, '/v1/records?limit=1', {
          key,
          headers: demands ? { 'if-known-size': `${known}` } : {},
        })
        if (JSON.parse(text).data[0].entry.seq + 1 < known) stale++
      }
    })
    const after = await readSources(metricsPort)
    return [
      demands ? 'with If-Known-Size' : 'without it (control)',
      `${total}`,
      `${after.replica - before.replica}`,
      `${after.fallback - before.fallback}`,
      `${stale}`,
    ]
  }
  const rows = [await count(Math.ceil(checked / 5), false), await count(checked, true)]
  printTable([
    ['reads of the newest record', 'reads', 'of the replica', 'of the primary instead', 'behind a write'],
    ...rows,
  ])
  if (rows[0]!.at(-1) === '0') console.log('the control found nothing, so this run proves nothing')
  if (rows[1]!.at(-1) !== '0') process.exitCode = 1
}

async function readSources(metricsPort: number): Promise<{ replica: number; fallback: number }> {
  const read = await scrapeAll([`http://127.0.0.1:${metricsPort}/metrics`])
  if (read === null) throw new Error('the server shows no metrics')
  const count = (source: string) => read[`tallystick_reads_total{source="${source}"}`] ?? 0
  return { replica: count('replica'), fallback: count('fallback') }
}

async function write(url: string, key: string, written: Sizes, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { size } = await ask(url, '/v1/records', { key, body: { type: 'generic/1', payload: { n: 1 } } })
    written.add(size)
    await sleep(WRITE_PAUSE_MS)
  }
}

async function fill(url: string, key: string): Promise<string[]> {
  const ids: string[] = []
  await inParallel(READERS, async () => {
    while (ids.length < RECORDS) {
      const { text } = await ask(url, '/v1/records', { key, body: { type: 'generic/1', payload: { n: 1 } } })
      ids.push(JSON.parse(text).id)
    }
  })
  return ids
}

async function makeLedger(url: string): Promise<string> {
  const { text } = await ask(url, '/v1/ledgers', {
    key: OPERATOR_KEY,
    body: { name: 'bench', agent: 'bench' },
  })
  return JSON.parse(text).key.key
}

function ask(
  url: string,
  path: string,
  { key, body, headers }: { key: string; body?: object; headers?: Record<string, string> },
): Promise<Answer> {
  const text = body && JSON.stringify(body)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const request = http.request(`${url}${path}`, {
    agent,
    method: text === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(text !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      }),
      ...headers,
    },
  })
  request.on('error', reject)
  request.on('response', (response) => {
    const pieces: Buffer[] = []
    response.on('data', (piece) => pieces.push(piece))
    response.on('error', reject)
    response.on('end', () => {
      const answer = Buffer.concat(pieces).toString()
      const status = response.statusCode!
      if (status >= 300) return reject(new Error(`${path}: ${status} ${answer.slice(0, 300)}`))
      resolve({ status, size: Number(response.headers['tallystick-ledger-size'] ?? 0), text: answer })
    })
  })
  request.end(text)
  return promise
}

async function startStandby(primary: RunningPostgres, binDir: string): Promise<RunningPostgres> {
  const dataDir = makeDir()
  const user = resolveRunAs('/nonexistent', () => {})
  const identity = user === null ? {} : { uid: user.uid, gid: user.gid }
  execFileSync('chown', [`${identity.uid ?? process.getuid!()}`, dataDir])
  const { port, username, password } = new URL(primary.superuserUrl)
  execFileSync(
    join(binDir, 'pg_basebackup'),
    [
      '-D',
      clusterDir(dataDir),
      '-R',
      '-c',
      'fast',
      '-X',
      'stream',
      '-h',
      '127.0.0.1',
      '-p',
      port,
      '-U',
      username,
    ],
    { ...identity, cwd: '/', env: { PATH: process.env['PATH'], PGPASSWORD: password } },
  )
  copyFileSync(join(primary.dataDir, 'passwords.json'), join(dataDir, 'passwords.json'))
  const settings = { recovery_min_apply_delay: APPLY_DELAY_MS }
  return startPostgres({ dataDir, binDir, settings, temporary: true, log: () => {} })
}

async function startServer(apiUrl: string, replicaUrl = ''): Promise<Server> {
  const [port, metricsPort] = [await findPort(), await findPort()]
  const env = environmentOf(
    { apiUrl, workerUrl: apiUrl, dataDir: tmpdir(), masterKey: MASTER_KEY, operatorKey: OPERATOR_KEY },
    {
      TALLYSTICK_PORT: `${port}`,
      TALLYSTICK_METRICS_PORT: `${metricsPort}`,
      TALLYSTICK_REPLICA_URL: replicaUrl,
      TALLYSTICK_LOG_LEVEL: 'warn',
    },
  )
  const started = startMeasured('server', env)
  const url = `http://127.0.0.1:${port}`
  await started.isReadyAt(url)
  return { url, metricsPort, process: started }
}

function apiUrl({ ownerUrl }: RunningPostgres): string {
  const url = new URL(ownerUrl)
  url.username = 'tallystick_api'
  url.password = PASSWORDS.api
  return url.href
}

function makeDir(): string {
  const dir = join('/var/tmp', `tallystick-bench-${randomBytes(4).toString('hex')}`)
  mkdirSync(dir, { mode: 0o711 })
  return dir
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

async function inParallel(count: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, work))
}

const { values } = parseArgs({
  options: { checked: { type: 'string' }, seconds: { type: 'string', default: '10' } },
})
await main(Number(values.checked ?? CHECKED_DEFAULT), Number(values.seconds) * 1_000)
