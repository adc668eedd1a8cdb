/*
 * npm run drill -- soak NAME…
 *
 * Runs the long forms of test/system/faults, and tests that take too long for npm test or need a quiet machine. Each
 * test prints its findings, and exits with 1 if it fails.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { temporaryDir } from '../../helpers/postgres.ts'
import { whyNoCluster } from '../failover/cluster.ts'
import { runFailover } from '../failover/failover.ts'
import { type FederationPlan, formatFederation, sufferFederation } from '../faults/federation-faults.ts'
import { formatFederationReckoning } from '../faults/federation-reckoning.ts'
import {
  formatAttempts,
  formatLoad,
  killApiUnderLoad,
  killPostgresUnderLoad,
  type Outcome,
} from '../faults/kill.ts'
import { formatAgentReckoning, killAgent } from '../faults/kill-agent.ts'
import { formatOtlpReckoning, hasHit, killOtlp } from '../faults/kill-otlp.ts'
import { formatWebhookKills, killWebhookWorkers } from '../faults/kill-webhook-workers.ts'
import { formatWorkerKills, killWorkersUnderLoad } from '../faults/kill-workers.ts'
import { whyNoLoopImages } from '../faults/loop-image.ts'
import { formatOutages, OUTAGES, type OutageName, sufferOutages } from '../faults/outages.ts'
import { cutPowerUnderLoad } from '../faults/power-cut.ts'
import { formatReckoning, type Reckoning } from '../faults/reckoning.ts'
import { formatRestarts, restartUnderLoad } from '../faults/rolling-restart.ts'
import { loadTwoServers } from '../faults/several-servers.ts'
import { runChaos } from './chaos.ts'
import {
  formatLifecycle,
  type LifecyclePlan,
  liveFederation,
  requireReconciled,
} from './federation-lifecycle.ts'
import { isolation } from './isolation.ts'
import { rotation } from './rotation.ts'
import { compareDisks } from './slow-disk.ts'
import { webhookBacklog } from './webhook-backlog.ts'
import { webhookEndpoints } from './webhook-endpoints.ts'
import { webhookIsolation } from './webhook-isolation.ts'

const KILLS = { kills: 5, clients: 32, loadMs: { min: 1_000, max: 4_000 } }
const WORKER_KILLS = { kills: 20, clients: 24, ledgers: 4, loadMs: { min: 500, max: 3_000 } }
const WEBHOOK_WORKER_KILLS = {
  kills: 20,
  clients: 12,
  ledgers: 4,
  endpointsPerLedger: 2,
  loadMs: { min: 500, max: 3_000 },
  hurry: false,
}
const AGENT_KILLS = 20
const OTLP_KILLS = 20
const FEDERATION_FAULTS: FederationPlan = {
  seed: Date.now() % 1_000_000,
  organisations: 3,
  clients: 3,
  kills: 20,
  rotations: 3,
  loadMs: { min: 1_000, max: 4_000 },
  faults: { share: 0.3, msMax: 2_000 },
  hurry: false,
}
const FEDERATION_LIFECYCLE: LifecyclePlan = { organisations: 3, clients: 8, records: 1_000 }
const RESTARTS = { rounds: 10, clients: 64, loadMs: 2_000, drainSeconds: 5 }
const POWER_CUTS = 2
/** Maximum time in ms from the database's return to a recovery. It is twice the value in docs/operate/postgres.md. */
const OUTAGE_MS_MAX = 10_000

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    duration: { type: 'string', default: '3600' },
    mode: { type: 'string', default: 'sync' },
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})

const SOAKS: Readonly<Record<string, () => Promise<void>>> = {
  'kill-postgres': () => runKill('kill -9 of Postgres', (dir) => killPostgresUnderLoad(dir, KILLS)),
  'kill-api': () => runKill('kill -9 of the API', (dir) => killApiUnderLoad(dir, KILLS)),
  'kill-control': runKillControl,
  'kill-workers': runWorkerKills,
  'kill-webhook-workers': runWebhookWorkerKills,
  'kill-agents': runAgentKills,
  'kill-otlp': runOtlpKills,
  'federation-faults': runFederationFaults,
  'federation-lifecycle': runFederationLifecycle,
  'rolling-restart': runRollingRestart,
  'power-cut': runPowerCuts,
  outages: runOutages,
  'two-servers': () => runTwoServers(1),
  'twenty-ledgers': () => runTwoServers(20),
  rotation: async () => requireNothingLost('rotation', await rotation()),
  isolation: () => isolation({ records: 200_000, probeMs: 8_000, only: null }),
  'isolation-large': () => isolation({ records: 10_000_000, probeMs: 20_000, only: ['exports', 'searches'] }),
  'slow-disk': () => compareDisks({ name: 'slow-disk', ledgers: [1], durationMs: 10_000 }),
  'many-ledgers': () => compareDisks({ name: 'many-ledgers', ledgers: [1, 200], durationMs: 8_000 }),
  'webhook-isolation': runWebhookIsolation,
  'webhook-endpoints': runWebhookEndpoints,
  'webhook-backlog': runWebhookBacklog,
  chaos: runChaosOnce,
  failover: runFailoverOnce,
}

if (names.length === 0 || names.some((name) => !(name in SOAKS))) {
  console.error(`npm run drill -- soak NAME…, of: ${Object.keys(SOAKS).join(', ')}`)
  process.exitCode = 2
} else {
  for (const name of names) await SOAKS[name]!()
  // Node 24 once did not end by itself after `failover`: it used a whole core while it waited for its own handles to
  // close (CleanupHandles).
  process.exit()
}

async function runChaosOnce(): Promise<void> {
  const faults = await runChaos({ durationMs: 1_000 * Number(values.duration), seed: Number(values.seed) })
  for (const fault of faults) fail(`chaos: ${fault}`)
}

async function runFailoverOnce(): Promise<void> {
  const { mode, kills, seed } = values
  if (mode !== 'sync' && mode !== 'async') throw new Error('--mode is sync or async')
  const reason = whyNoCluster()
  if (reason !== null) return console.log(`failover: skipped, because ${reason}`)
  const faults = await runFailover({ mode, kills: Number(kills), seed: Number(seed) })
  for (const fault of faults) fail(`failover: ${fault}`)
}

async function runKill(name: string, kill: (dir: string) => Promise<Outcome>): Promise<void> {
  const { reckoning, attempts, entries, recoveryMs, ackedBetween } = await kill(temporaryDir())
  console.log(`${name}, ${KILLS.kills} times: ${formatReckoning(reckoning)}`)
  console.log(`  acknowledged before each kill: ${ackedBetween.join(', ')}; entries=${entries} verified`)
  console.log(`  ${formatAttempts(attempts)}`)
  console.log(`  acknowledging again after ${recoveryMs.join(', ')} ms; ${formatLoad()}`)
  requireNothingLost(name, reckoning)
  if (reckoning.unknown === 0) fail('no kill hit a request on its way: the test has shown nothing')
}

/**
 * Proves that the kill test can find a loss: it repeats the kills with acknowledgements that do not wait for the
 * disk. Records must be lost then.
 */
async function runKillControl(): Promise<void> {
  const settings = { synchronous_commit: 'off', wal_writer_delay: '10s' }
  const { reckoning } = await killPostgresUnderLoad(temporaryDir(), { ...KILLS, kills: 1 }, settings)
  console.log(`kill -9 of Postgres, synchronous_commit=off: ${formatReckoning(reckoning)}; ${formatLoad()}`)
  if (reckoning.lost === 0) fail('the control lost nothing: the test could not have failed')
}

async function runWorkerKills(): Promise<void> {
  const outcome = await killWorkersUnderLoad(temporaryDir(), WORKER_KILLS)
  console.log(`kill -9 of one of two workers, ${WORKER_KILLS.kills} times: ${formatWorkerKills(outcome)}`)
  console.log(`  ${formatLoad()}`)
  const { completed, completions, doubled, unverified, unjudged, deadLetters, waitingHit } = outcome
  if (completed === 0 || completions !== completed || doubled + unverified + unjudged + deadLetters > 0)
    fail('kill-workers: see the line above')
  if (waitingHit.every((waiting) => waiting === 0))
    fail('no kill hit a worker at work: the test has shown nothing')
}

async function runWebhookWorkerKills(): Promise<void> {
  const outcome = await killWebhookWorkers(temporaryDir(), WEBHOOK_WORKER_KILLS)
  console.log(`kill -9 of one of two workers that deliver: ${formatWebhookKills(outcome)}; ${formatLoad()}`)
  const { events, lost, disordered, unstable, ghosts, requestsHit } = outcome
  if (events === 0 || lost + disordered + unstable + ghosts > 0)
    fail('kill-webhook-workers: see the line above')
  if (requestsHit.every((requests) => requests === 0))
    fail('no kill hit a request under way: the test has shown nothing')
}

/** Every fifth kill hits the server. */
async function runAgentKills(): Promise<void> {
  const victims = Array.from({ length: AGENT_KILLS * 1.25 }, (_, i) => (i % 5 === 4 ? 'api' : 'agent'))
  const outcome = await killAgent(temporaryDir(), { victims, workMs: { min: 200, max: 1_500 } })
  console.log(`kill -9 of an agent, ${AGENT_KILLS} times: ${formatAgentReckoning(outcome)}; ${formatLoad()}`)
  const { taken, lost, doubled, ghosts, disordered, filesLeft } = outcome
  if (taken === 0 || lost + doubled + ghosts + disordered > 0) fail('kill-agents: see the line above')
  if (filesLeft.every((files) => files === 0)) fail('no kill left a batch behind: the test has shown nothing')
}

/** Every fourth kill hits Postgres. */
async function runOtlpKills(): Promise<void> {
  const victims = Array.from({ length: OTLP_KILLS }, (_, i) => (i % 4 === 3 ? 'postgres' : 'api'))
  const outcome = await killOtlp(temporaryDir(), { exporters: 16, victims, workMs: { min: 200, max: 2_000 } })
  console.log(
    `kill -9 under exporters, ${OTLP_KILLS} times: ${formatOtlpReckoning(outcome)}; ${formatLoad()}`,
  )
  const { spans, lost, doubled, ghosts } = outcome
  if (spans === 0 || lost + doubled + ghosts > 0) fail('kill-otlp: see the line above')
  if (!hasHit(outcome)) fail('no kill hit a request: the test has shown nothing')
}

async function runFederationFaults(): Promise<void> {
  const outcome = await sufferFederation(temporaryDir(), FEDERATION_FAULTS)
  const { kills, seed } = FEDERATION_FAULTS
  console.log(`three federated ledgers, ${kills} kills, seed ${seed}: ${formatFederation(outcome)}`)
  console.log(`  ${formatFederationReckoning(outcome.reckoning)}; ${formatLoad()}`)
  const { shared, offers, records, findings, ...bad } = outcome.reckoning
  if (shared * offers * records === 0 || findings.length > 0 || Object.values(bad).some((count) => count > 0))
    fail('federation-faults: see the lines above')
  if (Object.values(outcome.met).includes(0) || outcome.requestsHit.every((requests) => requests === 0))
    fail('a fault never met a request, or no kill hit one: the test has shown nothing')
}

async function runFederationLifecycle(): Promise<void> {
  const outcome = await liveFederation(temporaryDir(), FEDERATION_LIFECYCLE)
  console.log(`three federated ledgers: ${formatLifecycle(outcome)}`)
  console.log(`  ${formatFederationReckoning(outcome.reckoning)}; ${formatLoad()}`)
  requireReconciled(outcome, FEDERATION_LIFECYCLE)
}

async function runRollingRestart(): Promise<void> {
  const outcome = await restartUnderLoad(temporaryDir(), RESTARTS)
  console.log(
    `two API processes, each restarted ${RESTARTS.rounds} times: ${formatReckoning(outcome.reckoning)}`,
  )
  console.log(`  ${formatRestarts(outcome)}; ${formatLoad()}`)
  requireNothingLost('rolling-restart', outcome.reckoning)
  const failed = Object.keys(outcome.ends).filter((end) => end !== '200' && end !== '201')
  if (failed.length > 0) fail(`rolling-restart: requests ended with ${failed.join(', ')}`)
  if (outcome.stops.some(({ exitCode }) => exitCode !== 0)) fail('rolling-restart: a process ended badly')
}

async function runOutages(): Promise<void> {
  const cleanups: (() => Promise<void>)[] = []
  const ends = { after: (cleanup: () => Promise<void>) => void cleanups.push(cleanup) }
  const plan = { outages: Object.keys(OUTAGES) as OutageName[], clients: 32, recoveryMsMax: OUTAGE_MS_MAX }
  const outcome = await sufferOutages(ends, temporaryDir(), plan)
  for (const cleanup of cleanups) await cleanup()
  console.log(formatOutages(outcome))
  requireNothingLost('outages', outcome.reckoning)
  const strange = Object.keys(outcome.attempts).filter((label) => !/^(201|503)/.test(label))
  if (strange.length > 0) fail(`outages: requests ended with ${strange.join(', ')}`)
}

async function runPowerCuts(): Promise<void> {
  const reason = whyNoLoopImages()
  if (reason !== null) return console.log(`power cut: skipped, because ${reason}`)
  for (let i = 1; i <= POWER_CUTS; i++) {
    for (const fsync of ['on', 'off'] as const) {
      const { reckoning, recovered } = await cutPowerUnderLoad({ fsync, clients: 32, loadMs: 6_000 })
      console.log(
        `power cut ${i}, fsync=${fsync}: ${formatReckoning(reckoning)}; recovered=${recovered}; ${formatLoad()}`,
      )
      if (fsync === 'on') requireNothingLost('power cut', reckoning)
      else if (reckoning.lost === 0) fail('the control lost nothing: the test could not have failed')
    }
  }
}

async function runTwoServers(ledgers: number): Promise<void> {
  const dir = join(temporaryDir(), 'deployment')
  mkdirSync(dir, { mode: 0o711 })
  const outcome = await loadTwoServers(dir, { ledgers, clients: 64, loadMs: 20_000 })
  const { reckoning, entries, deadlocks, recordsPerSecond } = outcome
  console.log(`two API processes, ${ledgers} ledgers: ${formatReckoning(reckoning)}`)
  console.log(
    `  entries=${entries} verified; deadlocks=${deadlocks}; ${recordsPerSecond} records/s; ${formatLoad()}`,
  )
  requireNothingLost('two-servers', reckoning)
  if (deadlocks > 0) fail(`${deadlocks} deadlocks`)
}

async function runWebhookIsolation(): Promise<void> {
  const { alone, beside, received, due } = await webhookIsolation(30_000)
  const ratio = beside.p99 / alone.p99
  console.log(
    `webhook-isolation: due ${due}, received ${received}; p99 beside / alone = ${ratio.toFixed(2)} (at most 2)`,
  )
  if (ratio > 2 || received !== due) fail('webhook-isolation: see the lines above')
}

async function runWebhookEndpoints(): Promise<void> {
  const plan = { ledgers: 200, endpointsPerLedger: 5, recordsPerSecond: 50, durationMs: 60_000 }
  const { due, received } = await webhookEndpoints(plan)
  if (received !== due) fail(`webhook-endpoints: ${received} of ${due} were received`)
}

async function runWebhookBacklog(): Promise<void> {
  const plan = { entries: 10_000_000, fastEndpoints: 5, recordsPerSecond: 200, durationMs: 120_000 }
  const { without, beside, due, received, slowReceived, residentMiB, jobs } = await webhookBacklog(plan)
  const ratio = beside.p99 / without.p99
  console.log(
    `webhook-backlog: due ${due}, received ${received}; the slow one ${slowReceived}; p99 beside / without = ${ratio.toFixed(2)}`,
  )
  const grownMiB = residentMiB.at(-1)! - residentMiB.at(-2)!
  if (received !== due || slowReceived === 0 || grownMiB > 50 || jobs > plan.fastEndpoints + 1)
    fail('webhook-backlog: see the lines above')
}

function requireNothingLost(name: string, { acked, lost, doubled, ghosts, torn }: Reckoning): void {
  if (acked === 0 || lost + doubled + ghosts + torn > 0) fail(`${name}: see the line above`)
}

function fail(message: string): void {
  console.error(`FAILED: ${message}`)
  process.exitCode = 1
}
