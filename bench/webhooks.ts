import { setTimeout as sleep } from 'node:timers/promises'
import type { LatencySummary } from '../cli/preflight/latencies.ts'
import { withClient } from '../src/db/connect/client.ts'
import { parseId } from '../src/proof/ids.ts'
import { runVerify } from './audit.ts'
import { type CpuSnapshot, type CpuUse, cpuBetween, takeCpuSnapshot } from './cpu.ts'
import type { Database } from './database.ts'
import type { Pace } from './load.ts'
import type { Target } from './load-connection.ts'
import { runLoad } from './load-process.ts'
import type { Options } from './options.ts'
import { post } from './post.ts'
import { type ProfileSummary, profileWindow } from './profile.ts'
import { type Deployment, makeLedger, type System, startSystem } from './system.ts'
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts'

/** Events, each delivered to every endpoint of its ledger. */
export type WebhookPhase = {
  readonly name: string
  readonly ledgers: number
  readonly endpointsPerLedger: number
  readonly records: number
  readonly requests: number
  readonly measuredMs: number
  readonly deliveriesPerSecond: number
  /** From `recordedAt` to the arrival; null where a backlog was drained. Nanoseconds, measured in milliseconds. */
  readonly lag: LatencySummary | null
  /** Average cores in use within the window. */
  readonly cpu: CpuUse
  readonly profiles: readonly ProfileSummary[]
}

/** Each record of each ledger reached each of its endpoints; `repeated`: more than once. */
export type WebhookAudit = {
  readonly due: number
  readonly received: number
  readonly repeated: number
  readonly signaturesChecked: number
  readonly signaturesBad: number
  readonly verify: readonly string[]
  readonly ok: boolean
}

export type WebhookFigures = {
  readonly phases: readonly WebhookPhase[]
  readonly audit: WebhookAudit
}

type Ledger = { readonly ledger: string; readonly bearer: string; readonly webhooks: readonly Webhook[] }
type Webhook = { readonly id: string; readonly number: number }

type Bench = {
  readonly system: System
  readonly receiver: WebhookReceiver
  readonly postmaster: number | null
  readonly operatorKey: string
  readonly options: Options
  readonly ledgers: Ledger[]
  /** Deliveries, so far. */
  due: number
}

const EVENT = 'record.recorded'
const PER_SECOND_DEFAULT = 500
const FILL_CONNECTIONS = 128
/** The other followers of a backlog's entries are done with them before it is drained. */
const CALM_MS = 4_000
const LOOK_EVERY_MS = 100
/** Without a single delivery for so long, the rest never comes. */
const STUCK_MS = 20_000

/** Backlogs that are drained, by the number of ledgers; then records at a constant rate. */
export async function runWebhooks(
  database: Database,
  deployment: Deployment,
  options: Options,
  announce: (line: string) => void,
): Promise<WebhookFigures> {
  const system = await startSystem(deployment, { servers: 1, worker: true, inspect: options.profile })
  const receiver = await startWebhookReceiver()
  const { postmaster } = database
  const { operatorKey } = deployment
  const bench: Bench = { system, receiver, postmaster, operatorKey, options, ledgers: [], due: 0 }
  try {
    const phases: WebhookPhase[] = []
    for (const ledgers of options.ledgers) {
      announce(`… a backlog of ${ledgers} ledger${ledgers === 1 ? '' : 's'}`)
      phases.push(await drainBacklog(bench, ledgers))
    }
    announce('… a constant rate')
    phases.push(await followRate(bench))
    return { phases, audit: await audit(database.ownerUrl, bench) }
  } finally {
    receiver.stop()
    await system.stop()
  }
}

async function drainBacklog(bench: Bench, count: number): Promise<WebhookPhase> {
  const { options, receiver, system } = bench
  const ledgers = await makeLedgers(bench, count)
  await changeAll(bench, ledgers, 'pause')
  let records = 0
  for (const [i, ledger] of ledgers.entries()) {
    const pace = { kind: 'closed' } as const
    const durationMs = options.durationMs / count
    records += await load(bench, ledger, { pace, durationMs, seed: options.seed * 100 + i })
  }
  await sleep(CALM_MS)
  const profile = options.profile ? await profileWindow(system.worker!, options.outDir) : null
  await receiver.begin()
  profile?.start()
  const before = snapshot(bench)
  await changeAll(bench, ledgers, 'resume')
  const window = await awaitDeliveries(bench, ledgers)
  const cpu = cpuBetween(before, snapshot(bench))
  profile?.stop()
  const measuredMs = window.lastAtMs! - window.firstAtMs!
  const name = `a backlog, ${count} × ${options.endpoints}`
  return {
    name,
    ledgers: count,
    endpointsPerLedger: options.endpoints,
    records,
    requests: window.requests,
    measuredMs,
    deliveriesPerSecond: window.requests / (measuredMs / 1000),
    lag: null,
    cpu,
    profiles: profile ? [{ process: 'the worker', ...(await profile.summarize(name, window.requests)) }] : [],
  }
}

async function followRate(bench: Bench): Promise<WebhookPhase> {
  const { options, receiver } = bench
  const [ledger] = await makeLedgers(bench, 1)
  const perSecond = options.perSecond ?? PER_SECOND_DEFAULT
  const pace = { kind: 'arrival', perSecond, backlogMax: perSecond * 5 } as const
  await load(bench, ledger!, { pace, durationMs: options.warmUpMs, seed: options.seed })
  await sleep(1_000)
  await receiver.begin()
  const snapshots: CpuSnapshot[] = []
  const records = await load(
    bench,
    ledger!,
    { pace, durationMs: options.durationMs, seed: options.seed + 1 },
    (pid) => snapshots.push(snapshot(bench, pid)),
  )
  const window = await awaitDeliveries(bench, [ledger!])
  return {
    name: `${perSecond}/s, 1 × ${options.endpoints}`,
    ledgers: 1,
    endpointsPerLedger: options.endpoints,
    records,
    requests: window.requests,
    measuredMs: options.durationMs,
    deliveriesPerSecond: window.requests / (options.durationMs / 1000),
    lag: window.lag,
    cpu: cpuBetween(snapshots[0]!, snapshots[1]!),
    profiles: [],
  }
}

/** Answers how many records the ledger has taken. */
async function load(
  bench: Bench,
  { bearer }: Ledger,
  shape: { pace: Pace; durationMs: number; seed: number },
  onEdge: (pid: number) => void = () => {},
): Promise<number> {
  const { system, options } = bench
  const { acknowledgedItems, unanswered } = await runLoad(
    {
      targets: system.targets,
      connections: FILL_CONNECTIONS,
      pace: shape.pace,
      request: {
        host: 'localhost',
        bearers: [bearer],
        kind: 'record',
        items: 1,
        payloadBytes: options.payloadBytes,
        idempotencyKeys: false,
        seed: shape.seed,
        expectedStatus: 201,
      },
      warmUpMs: 0,
      durationMs: shape.durationMs,
      drainMsMax: 10_000,
      sampleEvery: 0,
    },
    { onEdge: (_, pid) => onEdge(pid) },
  )
  if (unanswered > 0) throw new Error(`${unanswered} records were never answered`)
  bench.due += acknowledgedItems * options.endpoints
  return acknowledgedItems
}

async function makeLedgers(bench: Bench, count: number): Promise<Ledger[]> {
  const { system, operatorKey, options, ledgers } = bench
  const made: Ledger[] = []
  for (let i = 0; i < count; i++) {
    const target = system.targets[0]!
    const { ledger, bearer } = await makeLedger(target, operatorKey)
    const webhooks: Webhook[] = []
    for (let n = 0; n < options.endpoints; n++) webhooks.push(await makeWebhook(bench, target, bearer))
    made.push({ ledger, bearer, webhooks })
  }
  ledgers.push(...made)
  return made
}

let endpointsMade = 0

async function makeWebhook({ receiver }: Bench, target: Target, bearer: string): Promise<Webhook> {
  const number = endpointsMade++
  const url = `http://127.0.0.1:${receiver.port}/${number}`
  const { id, secret } = await post(target, bearer, '/v1/webhooks', { url, events: [EVENT] })
  const given = await receiver.add([{ secret: secret!, answerMs: 0 }])
  if (given !== number) throw new Error(`the receiver counts ${given} endpoints, not ${number}`)
  return { id: id!, number }
}

async function changeAll(
  { system }: Bench,
  ledgers: readonly Ledger[],
  to: 'pause' | 'resume',
): Promise<void> {
  for (const { bearer, webhooks } of ledgers)
    for (const { id } of webhooks) await post(system.targets[0]!, bearer, `/v1/webhooks/${id}/${to}`, {})
}

/** Until all that is due has come; answers the window of these ledgers. Throws where no more comes. */
async function awaitDeliveries({ receiver, due }: Bench, ledgers: readonly Ledger[]) {
  const numbers = ledgers.flatMap(({ webhooks }) => webhooks.map(({ number }) => number))
  let progress = { events: -1, atMs: 0 }
  for (;;) {
    const { events } = await receiver.read([])
    if (events >= due) return (await receiver.read([numbers])).windows[0]!
    if (events > progress.events) progress = { events, atMs: performance.now() }
    if (performance.now() - progress.atMs > STUCK_MS)
      throw new Error(`${events} of ${due} deliveries came, and then none for ${STUCK_MS} ms`)
    await sleep(LOOK_EVERY_MS)
  }
}

function snapshot({ system, receiver, postmaster }: Bench, loadPid?: number): CpuSnapshot {
  const server = system.servers.map(({ pid }) => pid)
  const load = loadPid === undefined ? {} : { load: [loadPid] }
  return takeCpuSnapshot({
    processes: { server, worker: [system.worker!.pid], receiver: [receiver.pid], ...load },
    postmaster,
  })
}

async function audit(ownerUrl: string, { system, receiver, ledgers }: Bench): Promise<WebhookAudit> {
  const due = await countDue(ownerUrl, ledgers)
  const { requests, events, signaturesChecked, signaturesBad } = await receiver.read([])
  const verify: string[] = []
  for (const { ledger } of ledgers) verify.push(await runVerify({ env: system.env, ledger }))
  const isVerified = verify.every((verdict) => verdict.startsWith('INTEGRITY_OK'))
  return {
    due,
    received: events,
    repeated: requests - events,
    signaturesChecked,
    signaturesBad,
    verify,
    ok: events === due && signaturesBad === 0 && signaturesChecked > 0 && isVerified,
  }
}

/** By the chains: an entry for each endpoint of its ledger. */
async function countDue(ownerUrl: string, ledgers: readonly Ledger[]): Promise<number> {
  return withClient(ownerUrl, async (client) => {
    let due = 0
    for (const { ledger, webhooks } of ledgers) {
      const { rows } = await client.query<{ records: number }>(
        `select count(*)::int as records from tallystick.entries where ledger_id = $1 and kind = 'record-notarized'`,
        [Buffer.from(parseId('led', ledger))],
      )
      due += rows[0]!.records * webhooks.length
    }
    return due
  })
}
