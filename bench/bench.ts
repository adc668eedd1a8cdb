import { calibrate } from './calibrate.ts'
import { type Database, openDatabase } from './database.ts'
import { makeParties, runLifecyclePhase } from './lifecycle.ts'
import { auditLifecycles } from './lifecycle-audit.ts'
import { NOTARIZERS, runNotarizerPhase } from './notarizer.ts'
import { type Options, parseOptions } from './options.ts'
import { hasBatches, type Phase, type PhasePlan, runPhase } from './phase.ts'
import { checkGate, inspectDatabase } from './preflight.ts'
import { printPreflight, printReport } from './print.ts'
import { runReference } from './reference.ts'
import { describeCommit, type Reference, type Report, type Round, writeReport } from './report.ts'
import { onClose, runBench } from './run-bench.ts'
import { type Deployment, deploy, type System, startSystem } from './system.ts'
import { auditLedgers, readStateBefore } from './watch/audit.ts'
import { type CpuSnapshot, cpuBetween, takeCpuSnapshot } from './watch/cpu.ts'

/**
 * Arrival rate as a share of the highest closed-loop rate. Latency is measured at this rate, because a real system runs
 * below its ceiling.
 */
const ARRIVAL_SHARE = 0.8
const BACKLOG_SECONDS = 5
/** Number of connections in overload phases: so many that each request is sent when it is due. */
const OVERLOAD_CONNECTIONS = 1_024
const LATENCY_SHARES = [0.1, 0.2, 0.5, 0.8, 0.9, 0.95]
const OVERLOAD_SHARES = [1.5, 2, 4, 10]
const SHARE_WARM_UP_MS = 2_000
/**
 * Load directly after an overload. Within a second the server accepts all requests again, so the warm-up is one second.
 */
const RECOVERY = { share: 0.5, warmUpMs: 1_000 }

const log = (line: string) => console.log(line)

async function main(options: Options): Promise<boolean> {
  if (options.scenario === 'calibrate') return calibrate(options)
  const startedAt = new Date().toISOString()
  const database = await openDatabase(
    { databaseUrl: process.env['DATABASE_URL'], embedded: options.embedded },
    log,
  )
  onClose(() => database.close())
  const inspected = await inspectDatabase(database)
  const { preflight } = inspected
  printPreflight(preflight)
  if (options.scenario === 'preflight') return true
  checkGate(preflight, options.fsyncGateMs, options.force)
  const about = {
    scenario: options.scenario,
    startedAt,
    commit: describeCommit(),
    node: process.version,
    options,
    ...inspected,
  }
  const references = await runReferences(database, options)
  const deployment = await deploy(database.ownerUrl)
  onClose(async () => deployment.close())
  const rounds: Round[] = []
  for (const servers of options.servers) rounds.push(await runRound(database, deployment, servers, options))
  const report: Report = { ...about, references, rounds }
  printReport(report)
  log(`\n${writeReport(report.scenario, report, options.outDir)}`)
  return rounds.every(({ audit, lifecycles }) => audit.ok && lifecycles?.ok !== false)
}

/** Starts fresh processes and a ledger, runs the phases of the scenario, and audits everything that they wrote. */
async function runRound(
  database: Database,
  deployment: Deployment,
  servers: number,
  options: Options,
): Promise<Round> {
  const before = await readStateBefore(database.ownerUrl)
  const system = await startSystem(deployment, {
    servers,
    worker: options.worker,
    inspect: options.profile,
    metrics: true,
    watched: options.watched,
  })
  onClose(() => system.stop())
  const run = RUNS[options.scenario] ?? runPhases
  const phases = await run(database, system, options)
  const items = hasBatches(options) ? options.batchItems : 1
  const audit = await auditLedgers({
    ownerUrl: database.ownerUrl,
    system,
    before,
    acknowledged: phases.reduce((sum, { load }) => sum + load.acknowledgedItems, 0),
    unanswered: phases.reduce((sum, { load }) => sum + load.unanswered * items, 0),
  })
  const lifecycles =
    options.scenario === 'lifecycle' ? await auditLifecycles(database.ownerUrl, system, phases) : null
  await system.stop()
  return { servers, phases, audit, lifecycles }
}

async function runPhases(database: Database, system: System, options: Options): Promise<Phase[]> {
  const phases: Phase[] = []
  const run = async (plan: PhasePlan) => {
    announce(plan.name, system)
    phases.push(await runPhase(system, database.postmaster, plan, options, seedOf(phases, options)))
  }
  for (const connections of options.connections) {
    const unit = hasBatches(options) ? 'producers' : 'connections'
    await run({ name: `${connections} ${unit}`, connections, pace: { kind: 'closed' } })
  }
  if (options.scenario === 'single' && options.arrival) await run(arrivalPhase(phases, options))
  return phases
}

async function runLatencyPhases(database: Database, system: System, options: Options): Promise<Phase[]> {
  const shares = options.shares ?? LATENCY_SHARES
  const phases: Phase[] = []
  const { connections, run, ceiling } = await runCeiling(phases, database, system, options)
  for (const share of shares) await run(arrivalAt(share, ceiling, connections), SHARE_WARM_UP_MS)
  return phases
}

async function runOverloadPhases(database: Database, system: System, options: Options): Promise<Phase[]> {
  const phases: Phase[] = []
  const { run, ceiling } = await runCeiling(phases, database, system, options)
  for (const share of options.shares ?? OVERLOAD_SHARES) {
    await run(arrivalAt(share, ceiling, OVERLOAD_CONNECTIONS), SHARE_WARM_UP_MS)
    await run(arrivalAt(RECOVERY.share, ceiling, OVERLOAD_CONNECTIONS), RECOVERY.warmUpMs)
  }
  return phases
}

function arrivalAt(share: number, ceiling: number, connections: number): PhasePlan {
  const perSecond = Math.round(ceiling * share)
  const pace = { kind: 'arrival', perSecond, backlogMax: Math.ceil(perSecond * BACKLOG_SECONDS) } as const
  return { name: `${share} × the ceiling`, connections, pace }
}

/**
 * Runs the first phase at full speed and returns its rate as the ceiling. Later phases run at shares of the ceiling. If
 * the options contain a rate, that rate is the ceiling, so that two runs can be compared.
 */
async function runCeiling(phases: Phase[], database: Database, system: System, options: Options) {
  const run = async (plan: PhasePlan, warmUpMs: number) => {
    announce(plan.name, system)
    const seed = seedOf(phases, options)
    phases.push(await runPhase(system, database.postmaster, plan, { ...options, warmUpMs }, seed))
  }
  const connections = Math.max(...options.connections)
  await run({ name: `${connections} connections`, connections, pace: { kind: 'closed' } }, options.warmUpMs)
  return { connections, run, ceiling: options.perSecond ?? phases[0]!.load.achievedPerSecond }
}

async function runLifecyclePhases(database: Database, system: System, options: Options): Promise<Phase[]> {
  if (!system.worker) throw new Error('the worker verifies completions: remove --no-worker')
  const parties = await makeParties(system)
  const phases: Phase[] = []
  for (const clients of options.connections) {
    announce(`${clients} clients`, system)
    const seed = seedOf(phases, options)
    phases.push(await runLifecyclePhase(system, database.postmaster, parties, clients, options, seed))
  }
  return phases
}

async function runNotarizerPhases(database: Database, system: System, options: Options): Promise<Phase[]> {
  const phases = await runPhases(database, system, { ...options, idempotencyKeys: true })
  for (const kind of NOTARIZERS) {
    announce(kind.name, system)
    const seed = seedOf(phases, options)
    phases.push(await runNotarizerPhase(system, database.postmaster, kind, options, seed))
  }
  return phases
}

const RUNS: Partial<Record<Options['scenario'], typeof runPhases>> = {
  latency: runLatencyPhases,
  overload: runOverloadPhases,
  lifecycle: runLifecyclePhases,
  notarizer: runNotarizerPhases,
}

function announce(name: string, { servers }: System): void {
  log(`… ${name}, ${servers.length} API process${servers.length === 1 ? '' : 'es'}`)
}

/** Returns a different seed for each phase, so that no idempotency key repeats on one ledger. */
function seedOf(phases: readonly Phase[], options: Options): number {
  return options.seed * 1000 + phases.length
}

function arrivalPhase(phases: readonly Phase[], options: Options): PhasePlan {
  const ceiling = Math.max(...phases.map((phase) => phase.load.achievedPerSecond))
  const perSecond = options.perSecond ?? Math.round(ceiling * ARRIVAL_SHARE)
  const backlogMax = Math.ceil(perSecond * BACKLOG_SECONDS)
  return {
    name: `${perSecond}/s due`,
    connections: Math.max(...options.connections),
    pace: { kind: 'arrival', perSecond, backlogMax },
  }
}

async function runReferences(database: Database, options: Options): Promise<Reference[]> {
  if (!options.reference) return []
  const wanted = hasBatches(options) ? [128] : options.connections
  const references: Reference[] = []
  for (const connections of new Set(wanted.map((count) => Math.min(count, database.connectionsFree)))) {
    log(`… reference, ${connections} connections`)
    const snapshots: CpuSnapshot[] = []
    const result = await runReference(
      {
        databaseUrl: database.ownerUrl,
        connections,
        payloadBytes: options.payloadBytes,
        warmUpMs: Math.min(options.warmUpMs, 2000),
        durationMs: options.durationMs,
        drainMsMax: 0,
      },
      {
        onEdge: (_edge, pid) => {
          snapshots.push(takeCpuSnapshot({ processes: { load: [pid] }, postmaster: database.postmaster }))
        },
      },
    )
    references.push({ ...result, cpu: cpuBetween(snapshots[0]!, snapshots[1]!) })
  }
  return references
}

await runBench(parseOptions, main)
