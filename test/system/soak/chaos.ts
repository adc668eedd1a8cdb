import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomFrom } from '../../../bench/load/random.ts'
import { cpuBetween, takeCpuSnapshot } from '../../../bench/watch/cpu.ts'
import { Member } from '../../helpers/federation-organisation.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { type FaultProxy, seededPlan, startFaultProxy } from '../../helpers/tcp-faults.ts'
import { type Ends, startTcpProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts'
import { Deployment, OPERATOR_KEY } from '../deployment/deployment.ts'
import { INSPECTABLE } from '../deployment/inspector.ts'
import { startFederationClients } from '../faults/federation-clients.ts'
import { hurryAll, pairsOf, peerAll } from '../faults/federation-faults.ts'
import { formatFederationReckoning } from '../faults/federation-reckoning.ts'
import { startGatedClients } from '../faults/gated-clients.ts'
import { formatAttempts, formatLoad, startClientsOn } from '../faults/kill.ts'
import { formatReckoning } from '../faults/reckoning.ts'
import { formatWebhooks, startListener } from '../faults/webhook-listeners.ts'
import { type ChaosScene, OVERLOADED, sufferInTurn } from './chaos-faults.ts'
import { startReaders } from './chaos-readers.ts'
import { type ChaosReckoning, findFaults, reckonChaos } from './chaos-reckoning.ts'
import { formatMemory, watchMemory } from './memory-watch.ts'
import { slowFsync } from './slow-fsync.ts'

export type ChaosPlan = { readonly durationMs: number; readonly seed: number }

/**
 * Load of the clients. The load takes a third of what two cores can do, so that there is time for faults. `pauseMsMax`
 * is the longest pause between two requests of a client.
 */
const RECORD_CLIENTS = { clients: 16, pauseMsMax: 1_000 }
const GATED_CLIENTS = { clients: 8, persistMs: 300_000, withOtherEnds: true }
const READERS = { readers: 4, pauseMsMax: 2_000 }
const FEDERATION_CLIENTS = 1
const PEER_FAULTS = { share: 0.1, msMax: 1_000 }
/**
 * Interval in ms at which senders are made to retry. Without this they wait up to five minutes after failures, and on a
 * busy machine the next fault comes earlier.
 */
const HURRY_EVERY_MS = 15_000
const PAUSE_MS = { min: 500, max: 4_000 }
/**
 * Node's heap in MiB, as in a container of 1 GiB (docs/operate/image.md). With its default on a larger machine, Node
 * would let gigabytes of garbage pile up.
 */
const HEAP_MIB_MAX = 560
const NODE_OPTIONS = `--max-old-space-size=${HEAP_MIB_MAX} ${INSPECTABLE}`
/**
 * Share of the run without kills, at the end. Growing memory shows only in a process that keeps running. This phase
 * starts with a warm-up: at these rates known statements (src/signing/known-statements.ts) take 18 minutes to fill
 * their 8 MiB.
 */
const CALM_SHARE = 1 / 2
const WARM_UP_SHARE = 1 / 4

/**
 * Runs all workloads at once, on two API processes, two workers and one Postgres, with a second deployment as their
 * peer. Meanwhile all kinds of faults occur. Prints its findings. Returns the faults that the plan did not cause.
 */
export async function runChaos(plan: ChaosPlan): Promise<readonly string[]> {
  console.log(`chaos: ${plan.durationMs / 1_000} s, seed ${plan.seed}`)
  const cleanups: (() => Promise<unknown>)[] = []
  const t = { after: (cleanup: () => Promise<unknown>) => void cleanups.push(cleanup) }
  try {
    return await run(t as Ends, plan)
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

async function run(t: Ends, { durationMs, seed }: ChaosPlan): Promise<readonly string[]> {
  const { dir, home, guest, proxy, peerProxies, hasSlowDisk } = await startDeployments(t, seed)
  const sides = [
    new Member('home', home.urls, home.superuserUrl),
    new Member('guest', guest.urls, guest.superuserUrl),
  ] as const
  for (const side of sides) await side.createLedger(OPERATOR_KEY)
  const peerings = await peerAll(sides)
  const [recordsA, recordsB, bursts, gatedA, gatedB, read] = await home.createLedgers(6)
  const listeners = [gatedA!, gatedB!, recordsA!].map((ledger) => startListener(home.urls[0]!, ledger))
  const heard = await Promise.all(listeners)
  for (const listener of heard) t.after(async () => void (await listener.close()))

  const { clients: count, pauseMsMax } = RECORD_CLIENTS
  const clients = startClientsOn(home, dir, [recordsA!, recordsB!], count, { pauseMsMax })
  const gated = await startGatedClients(home.urls, [gatedA!, gatedB!], GATED_CLIENTS)
  const others = [recordsA!, recordsB!, gatedA!]
  const readers = await startReaders({ urls: home.urls, own: read!, others, ...READERS })
  const hurrying = new AbortController()
  const hurry = hurryAll(peerings, hurrying.signal, HURRY_EVERY_MS)
  t.after(async () => {
    hurrying.abort()
    await hurry
  })
  const pairs = await pairsOf(sides, peerings)
  const shared = startFederationClients(Array(FEDERATION_CLIENTS).fill(pairs).flat())
  const workloads = [shared, readers, gated, clients]
  for (const workload of workloads) t.after(() => workload.abandon())

  const scene: ChaosScene = {
    dir,
    home,
    guest,
    proxy,
    hasSlowDisk,
    ledgers: [bursts!],
    clients,
    random: randomFrom(seed),
    burstAttempts: {},
  }
  // A failed client ends the run immediately.
  const failure = Promise.all(workloads.map((workload) => workload.ended()))
  failure.catch(() => {}) // The error is reported below.
  const calmAt = performance.now() + durationMs * (1 - CALM_SHARE)
  const turns = { kinds: 'all', untilMs: calmAt, pauseMs: PAUSE_MS } as const
  const suffered = await unless(failure, sufferInTurn(scene, turns))
  console.log(`chaos: acknowledging again after ms, the fault included; ${formatLoad()}`)
  for (const [name, ms] of Object.entries(suffered)) console.log(`  ${name}: ${ms.join(', ')}`)
  await sleep(durationMs * WARM_UP_SHARE)
  const memory = await unless(failure, liveOn(scene, durationMs * (CALM_SHARE - WARM_UP_SHARE)))

  for (const peerProxy of peerProxies) peerProxy.heal()
  for (const workload of workloads) await workload.finish()
  home.requireAlive()
  guest.requireAlive()
  console.log(`chaos: ${formatAttempts(clients.attempts)}; of bursts ${formatAttempts(scene.burstAttempts)}`)
  console.log(`  gated: ${list(gated.ends)}; shared: ${list(shared.ends)}; reads: ${list(readers.done)}`)
  console.log(`  between the peers: ${peerProxies.map(({ met }) => list(met)).join('; ')}`)

  const reckoning = await reckonChaos({
    dir,
    home,
    guest,
    journaled: [recordsA!, recordsB!, bursts!],
    gated: [gatedA!, gatedB!],
    read: read!,
    federated: { home: sides[0].ledger, guest: sides[1].ledger },
    erased: readers.erased,
    listeners: heard,
    peerings,
    memory,
  })
  console.log(formatChaos('chaos', reckoning))
  const attempts = { ...clients.attempts, ...scene.burstAttempts }
  return [...findFaults(reckoning), ...strangeAnswers(attempts), ...untried(scene)]
}

/** Returns the work's result, or rejects if `failure` rejects first. */
export async function unless<T>(failure: Promise<unknown>, work: Promise<T>): Promise<T> {
  work.catch(() => {}) // The work also fails when everything is stopped, so its error is ignored.
  await Promise.race([work, failure])
  return work
}

async function startDeployments(t: Ends, seed: number) {
  const dir = temporaryDir()
  const peerProxies: FaultProxy[] = []
  const publicly = async (url: string) => {
    const plan = seededPlan(seed + peerProxies.length, PEER_FAULTS)
    peerProxies.push(await startFaultProxy(t, url, plan))
    return peerProxies.at(-1)!.url
  }
  let proxy: TcpProxy | null = null
  const through = async (url: string) => {
    proxy = await startTcpProxy(t, url)
    return proxy.url
  }
  const postgresEnv = slowFsync(dir, 0)
  if (postgresEnv === null) console.log('chaos: no slow disk, because there is no C compiler (cc)')
  const home = await Deployment.start({
    dir,
    apis: 2,
    worker: 2,
    through,
    publicly,
    nodeOptions: NODE_OPTIONS,
    settings: { max_connections: 120 },
    ...(postgresEnv && { postgresEnv }),
  })
  t.after(() => home.stop())
  const guestDir = join(dir, 'guest')
  mkdirSync(guestDir, { mode: 0o711 })
  const guest = await Deployment.start({
    dir: guestDir,
    apis: 1,
    worker: true,
    publicly,
    nodeOptions: NODE_OPTIONS,
  })
  t.after(() => guest.stop())
  return { dir, home, guest, proxy: proxy!, peerProxies, hasSlowDisk: postgresEnv !== null }
}

/** Causes only gentle faults, and measures each process's memory meanwhile. */
async function liveOn(scene: ChaosScene, durationMs: number) {
  const { home, guest } = scene
  const processes = {
    'API 0': await home.inspectApi(0),
    'API 1': await home.inspectApi(1),
    'worker 0': await home.inspectWorker(0),
    'worker 1': await home.inspectWorker(1),
    "guest's API": await guest.inspectApi(0),
    "guest's worker": await guest.inspectWorker(0),
  }
  const groups = {
    processes: {
      APIs: [home.apiPid(0), home.apiPid(1)],
      workers: [home.workerPid(0), home.workerPid(1)],
      guest: [guest.apiPid(0), guest.workerPid(0), guest.postmaster],
      clients: [process.pid],
    },
    postmaster: home.postmaster,
  }
  const postmasters = { Postgres: home.postmaster, "guest's Postgres": guest.postmaster }
  return watchMemory(processes, postmasters, async () => {
    const cpu = takeCpuSnapshot(groups)
    const acknowledged = scene.clients.acknowledgedRecords
    const beganAt = performance.now()
    await sufferInTurn(scene, {
      kinds: 'gentle',
      untilMs: beganAt + durationMs,
      pauseMs: { min: 10_000, max: 20_000 },
    })
    const perSecond =
      (1_000 * (scene.clients.acknowledgedRecords - acknowledged)) / (performance.now() - beganAt)
    const cores = Object.entries(cpuBetween(cpu, takeCpuSnapshot(groups))).map(
      ([name, used]) => `${name} ${used.toFixed(2)}`,
    )
    console.log(`chaos: in its calm part ${Math.round(perSecond)} records/s; cores: ${cores.join(', ')}`)
  })
}

const EXPECTED_ENDS = /^(201|201 replayed|503 \w+|E[A-Z]+|no_answer)$/

function strangeAnswers(attempts: Readonly<Record<string, number>>): string[] {
  const strange = Object.keys(attempts).filter((label) => !EXPECTED_ENDS.test(label))
  return strange.map((label) => `${attempts[label]} requests ended with ${label}`)
}

/** Returns a line if the bursts tested nothing: no request was refused, so no queue was full. */
function untried({ burstAttempts }: ChaosScene): string[] {
  return burstAttempts[OVERLOADED]
    ? []
    : ['not tried: a full queue, because no request of a burst was refused']
}

export function formatChaos(name: string, reckoning: ChaosReckoning): string {
  const { records, gated, webhooks, federation, reconciled, unerased, entries, memory, blind } = reckoning
  return [
    `${name}: records: ${formatReckoning(records)}`,
    `  gated: ${list(gated)}`,
    `  webhooks: ${formatWebhooks(webhooks)}`,
    `  federation: ${formatFederationReckoning(federation)}; ${reconciled.join('; ')}`,
    `  entries=${entries} verified (INTEGRITY_OK); erased payloads that are still there: ${unerased}`,
    `  memory: ${formatMemory(memory)}`,
    `  controls that found nothing: ${blind.length === 0 ? 'none' : blind.join(', ')}; ${formatLoad()}`,
  ].join('\n')
}

function list(counts: object): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name}=${count}`)
    .join(' ')
}
