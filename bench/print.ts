import type { LatencySummary } from '../cli/preflight/latencies.ts'
import { printShares } from './notarizer.ts'
import type { Options } from './options.ts'
import { hasBatches, type Phase } from './phase.ts'
import type { Preflight } from './preflight.ts'
import { printLifecycle, printLifecycleAudit } from './print-lifecycle.ts'
import type { ProfileSummary } from './profile.ts'
import { type Reference, type Report, ratioOf } from './report.ts'
import { printTable } from './table.ts'
import { describeAudit } from './watch/audit.ts'
import { type CpuUse, OTHERS_CORES_MAX } from './watch/cpu.ts'

export function printPreflight({ machine, fsync, commit, flush }: Preflight): void {
  const ms = (latency: LatencySummary) => `p50 ${inMs(latency.p50)} ms, p99 ${inMs(latency.p99)} ms`
  const load = machine.loadAverage.map((average) => average.toFixed(2)).join(' ')
  print(`machine    ${machine.cores} × ${machine.cpu}, ${machine.memoryGiB} GiB, ${machine.system}`)
  print(`           load average ${load}; clock resolution ${machine.clockResolutionNs} ns`)
  print(
    `fdatasync  8 KiB appends: ${ms(fsync.append)}; overwrites: ${ms(fsync.overwrite)}; in ${fsync.directory}`,
  )
  print(`commits    one after another: ${ms(commit)}; their flush: ${ms(flush)}`)
}

function printVersions(report: Pick<Report, 'commit' | 'node' | 'postgres' | 'postgresSettings'>): void {
  const settings = Object.entries(report.postgresSettings).map(([name, value]) => `${name}=${value}`)
  print(`\nversions   Tallystick ${report.commit}, Node ${report.node}, Postgres ${report.postgres}`)
  print(`settings   ${settings.join(' ')}`)
}

export function printReport(report: Report): void {
  printVersions(report)
  for (const { servers, phases, audit, lifecycles } of report.rounds) {
    print(
      `\n${servers} API process${servers === 1 ? '' : 'es'}; all indexes on; ${describeLoad(report.options)}`,
    )
    for (const phase of phases) print(`${phase.name}: ${phase.load.pace}`)
    printRates(phases, report.references)
    if (report.scenario === 'notarizer') printShares(phases)
    for (const phase of phases) printLifecycle(phase)
    printRefusals(phases)
    printSteps(phases)
    printCpu(phases)
    for (const phase of phases) printTroubles(phase)
    print(`audit      ${audit.ok ? 'ok' : 'FAILED'}: ${describeAudit(audit)}`)
    for (const fault of audit.faults) print(`FAULT ${fault}`)
    if (lifecycles) printLifecycleAudit(lifecycles)
    for (const { profiles } of phases) for (const profile of profiles) printProfile(profile)
  }
  if (report.references.length > 0) printReferences(report.references)
}

function printRates(phases: readonly Phase[], references: readonly Reference[]): void {
  printTable([
    ['', 'offered/s', 'achieved/s', 'records/s', 'p50 ms', 'p90', 'p99', 'p99.9', 'max', '× plain inserts'],
    ...phases.map((phase) => {
      const { load } = phase
      const { p50, p90, p99, p999, max } = load.latency
      return [
        phase.name,
        rounded(load.offered / (load.measuredMs / 1000)),
        rounded(load.achievedPerSecond),
        rounded(load.itemsPerSecond),
        ...[p50, p90, p99, p999, max].map(inMs),
        ratioOf(phase, references)?.toFixed(2) ?? '–',
      ]
    }),
  ])
}

function printRefusals(phases: readonly Phase[]): void {
  const refusing = phases.filter(({ load }) => load.refusals.count > 0)
  if (refusing.length === 0) return
  printTable([
    ['refused (503)', 'refused/s', 'p50 ms', 'p90', 'p99', 'p99.9', 'max'],
    ...refusing.map(({ name, load: { refusals, refusedPerSecond } }) => [
      name,
      rounded(refusedPerSecond),
      ...[refusals.p50, refusals.p90, refusals.p99, refusals.p999, refusals.max].map(inMs),
    ]),
  ])
  // The times in this table start when a request is sent. They do not include its wait for a free connection.
  printTable([
    ['ms from sending', 'accepted: p50', 'p99', 'refused: p50', 'p99', 'max'],
    ...refusing.map(({ name, load: { service, refusalsService } }) => [
      name,
      ...[service.p50, service.p99].map(inMs),
      ...[refusalsService.p50, refusalsService.p99, refusalsService.max].map(inMs),
    ]),
  ])
}

function printSteps(phases: readonly Phase[]): void {
  const rows = phases.flatMap(({ name, steps }) => {
    if (!steps) return []
    const { begin, prepare, wait, postgres, answer } = steps
    return [[name, ...[begin, prepare, wait, postgres, answer].map((ms) => ms.toFixed(2))]]
  })
  if (rows.length === 0) return
  printTable([
    ['mean ms of a request', 'to begin', 'preparing', 'for a batch', 'in Postgres', 'answering'],
    ...rows,
  ])
}

const ACCOUNTS = ['server', 'postgres', 'worker', 'load', 'interrupts', 'others']

/** Prints the average number of cores in use, and the CPU time per record in µs. */
function printCpu(phases: readonly Phase[]): void {
  const perRecord = (phase: Phase, name: string) => {
    const cores = phase.cpu[name] ?? 0
    return phase.load.itemsPerSecond === 0
      ? ''
      : ` (${((cores * 1e6) / phase.load.itemsPerSecond).toFixed(1)})`
  }
  printTable([
    ['cores in use (µs/record)', ...ACCOUNTS, 'load, µs/request'],
    ...phases.map((phase) => [
      phase.name,
      ...ACCOUNTS.map((name) =>
        name in phase.cpu ? `${coresOf(phase.cpu, name)}${perRecord(phase, name)}` : '–',
      ),
      phase.load.cpu.microsPerRequest.toFixed(1),
    ]),
  ])
}

function printTroubles({ name, load, cpu, firstFailure, lifecycle }: Phase): void {
  const expected = lifecycle ? ['200', '201'] : ['201']
  const unexpected = Object.entries(load.statuses).filter(([status]) => !expected.includes(status))
  const troubles = [
    ...unexpected.map(([status, count]) => `${count} × ${status}`),
    ...Object.entries(load.errors).map(([code, count]) => `${count} × ${code}`),
    ...(load.unanswered > 0 ? [`${load.unanswered} unanswered`] : []),
    ...(load.backlogHighest > 0 ? [`backlog up to ${load.backlogHighest}`] : []),
    ...(load.dropped > 0 ? [`${load.dropped} dropped (backlog full)`] : []),
    ...((cpu['others'] ?? 0) > OTHERS_CORES_MAX ? ['BUSY MACHINE: other programs used part of it'] : []),
  ]
  if (troubles.length > 0) print(`! ${name}: ${troubles.join(', ')}`)
  if (firstFailure !== null) print(`  ${firstFailure.slice(0, 400)}`)
}

export function printProfile(profile: ProfileSummary): void {
  print(`\nCPU of ${profile.process} by function (self time; ${profile.file})`)
  for (const [title, lines] of [
    ['group', profile.groups],
    ['function', profile.functions],
  ] as const) {
    printTable([
      [title, '%', 'µs/record'],
      ...lines.map((line) => [line.name, (line.share * 100).toFixed(1), line.microsPerItem.toFixed(2)]),
    ])
    print('')
  }
}

function printReferences(references: readonly Reference[]): void {
  print(
    '\nreference: plain unsigned one-row inserts, each its own transaction, same Postgres, no HTTP, closed loop',
  )
  const accounts = ['load', 'postgres', 'interrupts', 'others']
  printTable([
    ['connections', 'rows/s', 'p50 ms', 'p99', 'p99.9', 'max', 'cores: load', ...accounts.slice(1)],
    ...references.map(({ connections, rowsPerSecond, latency, cpu }) => [
      String(connections),
      rounded(rowsPerSecond),
      ...[latency.p50, latency.p99, latency.p999, latency.max].map(inMs),
      ...accounts.map((name) => coresOf(cpu, name)),
    ]),
  ])
}

function describeLoad(options: Options): string {
  const batches = hasBatches(options) ? `batches of ${options.batchItems}, ` : ''
  const gates = options.scenario === 'lifecycle' ? `gate ${options.gate}, ` : ''
  const keys = options.idempotencyKeys ? 'idempotency keys' : 'no idempotency keys'
  const worker = options.worker ? 'worker running' : 'no worker'
  return `${batches}${gates}payloads of ${options.payloadBytes} bytes; ${keys}; ${worker}; ${options.durationMs / 1000} s each`
}

const coresOf = (cpu: CpuUse, name: string) => cpu[name]?.toFixed(2) ?? '–'
const rounded = (value: number) => String(Math.round(value))
const inMs = (nanoseconds: number) => (nanoseconds / 1e6).toFixed(2)
const print = (line: string) => console.log(line)
