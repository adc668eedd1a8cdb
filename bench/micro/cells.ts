/*
 * npm run bench -- cells [--seconds 6] [--rounds 2]
 *
 * Measures records per second through HAProxy (examples/haproxy) with one deployment and with three. Each deployment
 * has its own Postgres, server and worker on this machine. The first deployment is also measured without HAProxy. All
 * three run in each phase, so that phases differ only in the ledgers that are written to. The CPU use shows what
 * separate machines would achieve: each deployment has its own CPU, and only HAProxy is shared.
 *
 * `--seconds`: length of each phase. `--rounds`: number of times that all phases are repeated. Needs HAProxy, and
 * preferably the system's Postgres.
 */
import { parseArgs } from 'node:util'
import { spawnHaproxy } from '../../test/system/cells/haproxy-process.ts'
import { type Database, openDatabase } from '../database.ts'
import type { Target } from '../load/connection.ts'
import { runLoad } from '../load/load.ts'
import { type Deployment, deploy, type System, startSystem } from '../system.ts'
import { printTable } from '../table.ts'
import { type CpuSnapshot, type CpuUse, cpuBetween, takeCpuSnapshot } from '../watch/cpu.ts'

const NAMES = ['a', 'b', 'c'] as const
const WARM_UP_MS = 1_500

type Cell = { readonly database: Database; readonly deployment: Deployment; readonly system: System }
type Way = 'one, directly' | 'one' | 'three'
type Kind = 'single' | 'batch'

const LOADS: Readonly<Record<Kind, { readonly connections: number; readonly items: number }>> = {
  single: { connections: 64, items: 1 },
  batch: { connections: 4, items: 1_000 },
}
const WAYS: readonly Way[] = ['one, directly', 'one', 'three']

type Figures = {
  readonly itemsPerSecond: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Average number of cores in use, by all deployments. `haproxy`: cores in use by HAProxy. */
  readonly cells: number
  readonly haproxy: number
}

async function main(durationMs: number, rounds: number): Promise<void> {
  const cells: Cell[] = []
  let haproxy: Haproxy | null = null
  try {
    for (const _ of NAMES) cells.push(await startCell())
    haproxy = await startHaproxy(cells)
    const rows = [
      ['through HAProxy', 'records/s', 'requests/s', 'p50', 'p99', 'cores: deployments · HAProxy'],
    ]
    for (const kind of ['single', 'batch'] as const) {
      const found: Record<Way, Figures[]> = { 'one, directly': [], one: [], three: [] }
      for (let round = 0; round < rounds; round++)
        for (const way of WAYS) found[way].push(await measure(kind, way, cells, haproxy, durationMs))
      for (const way of WAYS) rows.push([`${kind}, ${way}`, ...textsOf(medianOf(found[way]))])
    }
    printTable(rows)
  } finally {
    haproxy?.stop()
    for (const { system, deployment, database } of cells) {
      await system.stop()
      await database.close()
      deployment.close()
    }
  }
}

async function startCell(): Promise<Cell> {
  const database = await openDatabase({ databaseUrl: undefined, embedded: false }, () => {})
  const deployment = await deploy(database.ownerUrl)
  const system = await startSystem(deployment, { servers: 1, worker: true, inspect: false })
  return { database, deployment, system }
}

async function measure(
  kind: Kind,
  way: Way,
  cells: readonly Cell[],
  haproxy: Haproxy,
  durationMs: number,
): Promise<Figures> {
  const { connections, items } = LOADS[kind]
  const written = way === 'three' ? cells : cells.slice(0, 1)
  let uses: readonly CpuUse[] = []
  let before: readonly CpuSnapshot[] = []
  const snapshots = () => [...cells.map(snapshotOf), takeCpuSnapshot(haproxy.cpu)]
  const load = await runLoad(
    {
      targets: [way === 'one, directly' ? cells[0]!.system.targets[0]! : haproxy.target],
      connections,
      pace: { kind: 'closed' },
      request: {
        bearers: written.map(({ system }) => system.bearer),
        kind: kind === 'batch' ? 'batch' : 'record',
        items,
        payloadBytes: 400,
        idempotencyKeys: false,
        seed: 1,
      },
      warmUpMs: WARM_UP_MS,
      durationMs,
      drainMsMax: 10_000,
      sampleEvery: 0,
    },
    {
      onEdge(edge) {
        if (edge === 'measure') before = snapshots()
        else uses = snapshots().map((after, i) => cpuBetween(before[i]!, after))
      },
    },
  )
  const failed = Object.entries(load.statuses).filter(([status]) => status !== '201')
  if (failed.length > 0 || load.unanswered > 0)
    throw new Error(`${kind}, ${way}: ${JSON.stringify(load.statuses)}, ${load.unanswered} unanswered`)
  const coresOf = ({ api = 0, worker = 0, postgres = 0 }: CpuUse) => api + worker + postgres
  return {
    itemsPerSecond: load.itemsPerSecond,
    requestsPerSecond: load.achievedPerSecond,
    p50Ms: load.latency.p50 / 1e6,
    p99Ms: load.latency.p99 / 1e6,
    cells: uses.slice(0, -1).reduce((sum, use) => sum + coresOf(use), 0),
    haproxy: uses.at(-1)!['haproxy'] ?? 0,
  }
}

function snapshotOf({ database, system }: Cell): CpuSnapshot {
  const worker = system.worker === null ? [] : [system.worker.pid]
  const processes = { api: system.servers.map(({ pid }) => pid), worker }
  return takeCpuSnapshot({ processes, postmaster: database.postmaster })
}

function textsOf({ itemsPerSecond, requestsPerSecond, p50Ms, p99Ms, cells, haproxy }: Figures): string[] {
  return [
    itemsPerSecond.toFixed(0),
    requestsPerSecond.toFixed(0),
    `${p50Ms.toFixed(1)} ms`,
    `${p99Ms.toFixed(1)} ms`,
    `${cells.toFixed(2)} · ${haproxy.toFixed(2)}`,
  ]
}

function medianOf(figures: readonly Figures[]): Figures {
  const sorted = figures.toSorted((one, two) => one.itemsPerSecond - two.itemsPerSecond)
  return sorted[Math.floor(sorted.length / 2)]!
}

type Haproxy = {
  readonly target: Target
  readonly cpu: Parameters<typeof takeCpuSnapshot>[0]
  stop(): void
}

async function startHaproxy(cells: readonly Cell[]): Promise<Haproxy> {
  const [a, b, c] = cells.map(({ system }) => `http://127.0.0.1:${system.targets[0]!.port}`)
  const map = Object.fromEntries(cells.map(({ system }, i) => [system.ledger, NAMES[i]!]))
  let kill = () => {}
  const { url, child } = await spawnHaproxy({ a: a!, b: b!, c: c! }, map, undefined, (spawned) => {
    kill = () => spawned.kill('SIGKILL')
    process.once('exit', kill)
  })
  return {
    target: { host: '127.0.0.1', port: Number(new URL(url).port) },
    cpu: { processes: { haproxy: [child.pid!] }, postmaster: null },
    stop() {
      kill()
      process.off('exit', kill)
    },
  }
}

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '6' }, rounds: { type: 'string', default: '2' } },
})
await main(Number(values.seconds) * 1_000, Number(values.rounds))
