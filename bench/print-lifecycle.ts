import type { LatencySummary } from '../cli/preflight/latencies.ts'
import type { LifecycleAudit } from './lifecycle-audit.ts'
import { LIFECYCLE_STEPS } from './load/requests.ts'
import type { Phase } from './phase.ts'
import { printTable } from './table.ts'

const STEP_NAMES = {
  create: 'POST /v1/records',
  activate: 'POST …/activate',
  complete: 'POST …/completions',
  look: 'GET (waiting for the worker)',
  judge: 'POST …/verdict',
}

export function printLifecycle({ name, lifecycle }: Phase): void {
  if (lifecycle === undefined) return
  const { gate, steps, wait, looksPerRecord, requestsPerSecond } = lifecycle
  console.log(
    `${name}, gate ${gate}: ${Math.round(requestsPerSecond)} requests/s, ${looksPerRecord.toFixed(2)} polls a record`,
  )
  const row = (label: string, { p50, p90, p99, p999, max }: LatencySummary) => [
    `  ${label}`,
    ...[p50, p90, p99, p999, max].map((nanoseconds) => (nanoseconds / 1e6).toFixed(2)),
  ]
  printTable([
    ['', 'p50 ms', 'p90', 'p99', 'p99.9', 'max'],
    ...LIFECYCLE_STEPS.filter((step) => steps[step].count > 0).map((step) =>
      row(STEP_NAMES[step], steps[step]),
    ),
    row('completion answered → verification seen', wait),
  ])
}

export function printLifecycleAudit(audit: LifecycleAudit): void {
  const { p50, p99, max } = audit.verificationMs
  const states = Object.entries(audit.states).map(([state, count]) => `${count} ${state}`)
  console.log(
    `           ${audit.ok ? 'each once' : 'FAILED'}: seen accepted ${audit.complete}, given up ${audit.abandoned}, ` +
      `found ${states.join(', ')}; not exactly once ${audit.notOnce}; jobs retried ${audit.jobsRetried}`,
  )
  console.log(
    `           completion → verification, by the ledger's times: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)}, max ${max.toFixed(0)}`,
  )
}
