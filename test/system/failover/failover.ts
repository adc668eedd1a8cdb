import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Random, randomFrom } from '../../../bench/load/random.ts'
import { Member as Organisation } from '../../helpers/federation-organisation.ts'
import { temporaryDir, temporaryDirInMemory } from '../../helpers/postgres.ts'
import type { Ends } from '../../helpers/tcp-proxy.ts'
import { Deployment, OPERATOR_KEY } from '../deployment/deployment.ts'
import type { RunningClients } from '../faults/clients.ts'
import { startFederationClients } from '../faults/federation-clients.ts'
import { hurryAll, pairsOf, peerAll } from '../faults/federation-faults.ts'
import { startGatedClients } from '../faults/gated-clients.ts'
import { formatAttempts, formatLoad, readAll, startClientsOn, untilAcknowledging } from '../faults/kill.ts'
import { reckon } from '../faults/reckoning.ts'
import { startListener } from '../faults/webhook-listeners.ts'
import { formatChaos, unless } from '../soak/chaos.ts'
import { findFaults, reckonChaos } from '../soak/chaos-reckoning.ts'
import { Cluster } from './cluster.ts'
import {
  FAILOVER_FAULTS,
  type FailoverFaultName,
  findGivenUp,
  findLate,
  formatSuffered,
  planFaults,
  type Suffered,
} from './faults.ts'
import { GapWatch } from './gap-watch.ts'
import { checkHistory, startHistory } from './history.ts'
import { countLosses, type FaultLosses, startOperator } from './losses.ts'
import { type RunningSdkClients, startSdkClients } from './sdk-clients.ts'

export type FailoverPlan = { readonly mode: 'sync' | 'async'; readonly kills: number; readonly seed: number }

/** Load of the clients. It is a third of the load that two cores can process next to three databases. */
const RECORD_CLIENTS = { clients: 16, pauseMsMax: 400 }
const GATED_CLIENTS = { clients: 4, persistMs: 300_000 }
/** Range of the time in ms between two faults. The losses of the previous fault are found in this time. */
const LOAD_MS = { min: 1_500, max: 3_000 }
const HURRY_EVERY_MS = 5_000

type Scene = {
  readonly cluster: Cluster
  readonly home: Deployment
  readonly clients: RunningClients
  readonly random: Random
  readonly gaps: GapWatch
  readonly sdk: RunningSdkClients | null
}

/**
 * Runs two servers and two workers on a cluster of three databases, while primaries are killed, stopped, cut off and
 * switched over. Prints its findings. Returns the faults that the plan does not expect.
 */
export async function runFailover(plan: FailoverPlan): Promise<readonly string[]> {
  const cleanups: (() => Promise<unknown>)[] = []
  const t = { after: (cleanup: () => Promise<unknown>) => void cleanups.push(cleanup) } as Ends
  console.log(`failover: ${plan.mode}, ${plan.kills} kills, seed ${plan.seed}; ${formatLoad()}`)
  try {
    return plan.mode === 'sync' ? await loseNothing(t, plan) : await findLost(t, plan)
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

/** Runs all workloads on a cluster in quorum mode. Everything that was acknowledged must be found. */
async function loseNothing(t: Ends, plan: FailoverPlan): Promise<string[]> {
  const { dir, cluster, home } = await startOnCluster(t, plan)
  const guestDir = join(dir, 'guest')
  mkdirSync(guestDir, { mode: 0o711 })
  const publicly = async (url: string) => url
  const guest = await Deployment.start({ dir: guestDir, apis: 1, worker: true, publicly })
  t.after(() => guest.stop())
  const sides = [
    new Organisation('home', home.urls, home.superuserUrl),
    new Organisation('guest', guest.urls, guest.superuserUrl),
  ] as const
  for (const side of sides) await side.createLedger(OPERATOR_KEY)
  const peerings = await peerAll(sides)
  const [recordsA, recordsB, gatedA, read, list, raced, used] = await home.createLedgers(7)
  const listeners = await Promise.all(
    [gatedA!, recordsA!].map((ledger) => startListener(home.urls[0]!, ledger)),
  )
  for (const listener of listeners) t.after(async () => void (await listener.close()))

  const { clients: count, pauseMsMax } = RECORD_CLIENTS
  const clients = startClientsOn(home, dir, [recordsA!, recordsB!], count, { pauseMsMax })
  const gated = await startGatedClients(home.urls, [gatedA!], GATED_CLIENTS)
  const hurrying = new AbortController()
  const hurry = hurryAll(peerings, hurrying.signal, HURRY_EVERY_MS)
  t.after(async () => {
    hurrying.abort()
    await hurry
  })
  const shared = startFederationClients(await pairsOf(sides, peerings))
  const history = await startHistory(home.urls, { list: list!, gated: raced! }, join(dir, 'history.ndjson'))
  const sdk = startSdkClients(home.urls, used!)
  const workloads = [sdk, history, shared, gated, clients]
  for (const workload of workloads) t.after(() => workload.abandon())
  const failed = Promise.all(workloads.map((workload) => workload.ended()))
  failed.catch(() => {}) // The error is reported below.

  const suffered = await unless(failed, suffer({ cluster, home, clients, sdk }, plan))
  for (const workload of workloads) await workload.finish()
  home.requireAlive()
  console.log(
    `failover: ${formatAttempts(clients.attempts)}; gated: ${JSON.stringify(gated.ends)}; shared: ${JSON.stringify(shared.ends)}`,
  )
  console.log(formatSuffered(suffered))
  console.log(
    `failover: SDK: ${sdk.calls} calls answered, ${sdk.failed} given up; refused attempts: ${JSON.stringify(sdk.refused)}`,
  )
  const reckoning = await reckonChaos({
    dir,
    home,
    guest,
    journaled: [recordsA!, recordsB!],
    gated: [gatedA!],
    read: read!,
    federated: { home: sides[0].ledger, guest: sides[1].ledger },
    erased: new Set(),
    listeners,
    peerings,
    memory: {},
  })
  console.log(formatChaos('failover', reckoning))
  const { verdict, control } = await checkHistory(join(dir, 'history.ndjson'))
  console.log(`failover: history: ${verdict.output}; with one read altered: ${control.output}`)
  return [
    ...findFaults(reckoning),
    ...(verdict.isLinearizable ? [] : [`history: ${verdict.output}`]),
    ...(control.isLinearizable ? ['history: the altered read was not found'] : []),
    ...findLate(suffered),
    ...findGivenUp(suffered),
  ]
}

/**
 * Runs single records only, on an asynchronous cluster. The stored checkpoints must reveal losses. The ledger
 * continues once its operator has acknowledged the losses.
 */
async function findLost(t: Ends, plan: FailoverPlan): Promise<string[]> {
  const { dir, cluster, home } = await startOnCluster(t, plan)
  const ledgers = await home.createLedgers(4)
  const [, , list, raced] = ledgers
  const { clients: count, pauseMsMax } = RECORD_CLIENTS
  const clients = startClientsOn(home, dir, ledgers.slice(0, 2), count, { pauseMsMax })
  t.after(() => clients.abandon())
  const history = await startHistory(home.urls, { list: list!, gated: raced! }, join(dir, 'history.ndjson'))
  t.after(() => history.abandon())
  const operator = startOperator(home.urls[0]!, ledgers)
  t.after(() => operator.stop())
  const failed = Promise.all([clients.ended(), history.ended()])
  failed.catch(() => {}) // The error is reported below.
  const suffered = await unless(
    failed,
    suffer({ cluster, home, clients, sdk: null }, plan).catch((error: Error) => {
      throw new Error(`${error.message}; the operator: ${operator.error}`)
    }),
  )
  await Promise.all([clients.finish(), history.finish()])
  await operator.stop()
  const { losses } = operator
  home.requireAlive()
  console.log(`failover: ${formatAttempts(clients.attempts)}`)
  console.log(formatSuffered(suffered))
  const { journal, stored, entries } = await readAll(home, dir, ledgers.slice(0, 2))
  const { acked, found, lost, doubled, ghosts, torn } = reckon(journal, stored)
  const perFault = countLosses(suffered, journal, stored, losses)
  const unfound = perFault.filter((one) => one.fault === WITH_LOSS && one.lost > 0 && one.closed === 0)
  console.log(
    `failover: acked=${acked} found=${found} lost=${lost} doubled=${doubled} ghosts=${ghosts} torn=${torn}; entries=${entries} verified\n${formatLosses(perFault)}\n` +
      `  ledgers closed and reopened: ${losses.map(({ known, found }) => `${known}→${found}`).join(', ') || 'none'}; ${formatLoad()}`,
  )
  // This proves that the check of the history works. The check must fail here, because readers saw records that were
  // lost.
  const { verdict } = await checkHistory(join(dir, 'history.ndjson'))
  console.log(`failover: history: ${verdict.output}`)
  const isSeen = losses.some(({ ledger }) => ledger === list!.ledger)
  const counts = { doubled, ghosts, torn, 'faults whose loss closed no ledger': unfound.length }
  return [
    ...(isSeen && verdict.isLinearizable ? ['history: the loss was not found'] : []),
    ...Object.entries(counts).flatMap(([name, bad]) => (bad === 0 ? [] : [`${name}=${bad}`])),
    ...(acked === 0 || lost === 0
      ? ['nothing was acknowledged, or nothing lost: the run has shown nothing']
      : []),
  ]
}

const WITH_LOSS: FailoverFaultName = 'kill -9 while standbys are behind'

function formatLosses(perFault: readonly FaultLosses[]): string {
  return [...Map.groupBy(perFault, ({ fault }) => fault)]
    .map(([fault, all]) => {
      const lossy = all.filter(({ lost }) => lost > 0)
      const sum = (member: 'lost' | 'named') => lossy.reduce((total, one) => total + one[member], 0)
      const found = lossy.filter(({ closed }) => closed > 0).length
      return `  ${fault}: ${lossy.length} of ${all.length} lost records, and ${found} of these closed ledgers; records lost ${sum('lost')}, below a checkpoint that was kept ${sum('named')}`
    })
    .join('\n')
}

async function startOnCluster(t: Ends, { mode }: FailoverPlan) {
  const dir = temporaryDir()
  const cluster = await Cluster.start(t, temporaryDirInMemory(), mode === 'sync' ? 'quorum' : 'asynchronous')
  const home = await Deployment.start({
    dir,
    apis: 2,
    worker: 2,
    database: cluster,
    publicly: async (url) => url,
  })
  t.after(() => home.stop())
  return { dir, cluster, home }
}

async function suffer(
  on: Pick<Scene, 'cluster' | 'home' | 'clients' | 'sdk'>,
  { kills, seed }: FailoverPlan,
): Promise<Suffered[]> {
  const all: Suffered[] = []
  const gaps = new GapWatch(on.clients, on.cluster.superuserUrl)
  const scene: Scene = { ...on, gaps, random: randomFrom(seed) }
  try {
    await sleep(LOAD_MS.max)
    for (const fault of planFaults(kills, scene.random)) {
      const one = await sufferOne(scene, fault)
      all.push(one)
      console.log(
        `  ${fault}, until ${new Date(one.endedAtMs).toISOString()}: cluster ${one.clusterMs} ms, records ${one.recordsMs} ms, beyond ${one.beyondMs} ms`,
      )
    }
    return all
  } finally {
    await gaps.stop()
  }
}

async function sufferOne(scene: Scene, fault: FailoverFaultName): Promise<Suffered> {
  const { cluster, home, clients, random, gaps, sdk } = scene
  const { begin, heal } = FAILOVER_FAULTS[fault] as (typeof FAILOVER_FAULTS)['machine gone']
  const [leader, before] = [await cluster.leader(), await cluster.timeline()]
  const counted = countSdk(sdk)
  gaps.begin()
  await begin({ cluster, leader, random } as never)
  await cluster.untilServing(before)
  await untilAcknowledging(clients, home)
  await heal?.({ cluster, leader, random } as never)
  await cluster.untilHealthy()
  await untilAcknowledging(clients, home)
  await sleep(random.integer(LOAD_MS.min, LOAD_MS.max))
  const { cluster: clusterMs, records: recordsMs, beyond: beyondMs } = gaps.longest
  const { givenUp, refused } = countSdk(sdk)
  return {
    fault,
    endedAtMs: Date.now(),
    clusterMs: Math.round(clusterMs),
    recordsMs: Math.round(recordsMs),
    beyondMs: Math.round(beyondMs),
    callsGivenUp: givenUp - counted.givenUp,
    attemptsRefused: refused - counted.refused,
  }
}

function countSdk(sdk: RunningSdkClients | null): { readonly givenUp: number; readonly refused: number } {
  const refused = Object.values(sdk?.refused ?? {}).reduce((sum, count) => sum + count, 0)
  return { givenUp: sdk?.failed ?? 0, refused }
}
