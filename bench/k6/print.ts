import { printTable } from '../table.ts'
import { describeAudit } from '../watch/audit.ts'
import { OTHERS_CORES_MAX } from '../watch/cpu.ts'
import { formatValue, judgeGoal } from './figures.ts'
import type { K6Options, K6Report, K6Run, Published, ScriptName } from './types.ts'

type Failed = { readonly script: ScriptName; readonly error: string }

export function printReport(report: K6Report): void {
  console.log('')
  printTable(rowsOf(report))
  for (const { name, runs, audit } of report.rounds) {
    for (const run of runs) {
      const cores = Object.entries(run.cpu).map(([process, used]) => `${process} ${used.toFixed(2)}`)
      const title = [name, run.title]
        .filter((part, i, all) => part !== '' && all.indexOf(part) === i)
        .join(', ')
      console.log(
        `${title ? `${title}: ` : ''}cores ${cores.join(', ')}; k6 ${formatValue(run.k6MicrosPerRequest)} µs a request`,
      )
      if ((run.cpu['others'] ?? 0) > OTHERS_CORES_MAX)
        console.log('  BUSY MACHINE: other programs used it meanwhile')
      for (const warning of run.warnings) console.log(`  k6: ${warning}`)
    }
    console.log(describeAudit(audit))
  }
  for (const fault of report.faults) console.log(`FAULT ${fault}`)
}

/**
 * Returns the table rows for console and docs. Each row has a figure that others published, our figures by k6 and by
 * our own generator, and the goal.
 */
export function rowsOf({ published, figures, extras, rounds, options }: Tabled): string[][] {
  const rows = published.figures.filter(({ id, goal }) => figures[id] !== undefined || goal !== undefined)
  const tried = (extras['tried'] ?? {}) as Readonly<Record<string, number>>
  const k6 = describeK6Cores(rounds)
  return [
    ['', 'published elsewhere (other hardware)', 'here', 'k6 itself', 'by npm run bench', 'goal', ''],
    ...rows.map(({ id, name, unit, published: elsewhere, generator, goal }) => [
      name,
      format(elsewhere, unit),
      format(figures[id], unit),
      k6,
      format(generator, unit),
      formatGoal(goal, unit),
      judgeGoal(goal, figures[id], { profile: options.profile, tried: tried[id] }) ?? '',
    ]),
  ]
}

type Tabled = Pick<K6Report, 'published' | 'figures' | 'extras'> & {
  readonly options: Pick<K6Options, 'profile'>
  readonly rounds: readonly { readonly runs: readonly Pick<K6Run, 'cpu' | 'wallMs'>[] }[]
}

/**
 * Describes the cores that k6 used, out of all cores in use, as a mean over all runs. The server could not use the
 * cores that k6 used on the same machine.
 */
function describeK6Cores(rounds: Tabled['rounds']): string {
  const runs = rounds.flatMap((round) => round.runs)
  const wallMs = runs.reduce((sum, run) => sum + run.wallMs, 0)
  if (wallMs === 0) return '–'
  const mean = (cores: (cpu: K6Run['cpu']) => number) =>
    (runs.reduce((sum, { cpu, wallMs: ms }) => sum + cores(cpu) * ms, 0) / wallMs).toFixed(2)
  const all = mean((cpu) => Object.values(cpu).reduce((sum, cores) => sum + cores, 0))
  return `${mean((cpu) => cpu['k6'] ?? 0)} of ${all} cores`
}

export function printOutcomes(reports: readonly (K6Report | Failed)[]): void {
  console.log('')
  printTable([
    ['script', 'seconds', 'records', 'accepted p99 ms', 'k6 cores', 'thresholds', 'audit', ''],
    ...reports.map((report) => ('error' in report ? failedRow(report) : outcomeRow(report))),
  ])
}

function outcomeRow({ script, seconds, rounds, ok }: K6Report): string[] {
  const runs = rounds.flatMap((round) => round.runs)
  const last = runs.at(-1)!
  const thresholds = runs.flatMap(({ summary }) => summary.thresholds)
  const audits = rounds.map(({ audit }) => audit)
  return [
    script,
    seconds.toFixed(0),
    String(audits.reduce((sum, { acknowledged }) => sum + acknowledged, 0)),
    formatValue(Number(last.summary.metrics['accepted']?.['p(99)'] ?? 0)),
    (last.cpu['k6'] ?? 0).toFixed(2),
    `${thresholds.filter((threshold) => threshold.ok).length} of ${thresholds.length}`,
    audits.every((audit) => audit.ok) ? 'good' : 'BAD',
    ok ? 'ok' : 'FAIL',
  ]
}

function failedRow({ script, error }: Failed): string[] {
  return [script, '', '', '', '', '', '', `FAIL ${error.split('\n', 1)[0]}`]
}

function format(value: number | null | undefined, unit: string): string {
  return value === null || value === undefined ? '–' : `${formatValue(value)} ${unit}`.trim()
}

function formatGoal(goal: Published['figures'][number]['goal'], unit: string): string {
  if (goal?.atLeast !== undefined) return `≥ ${format(goal.atLeast, unit)}`
  return goal?.atMost !== undefined ? `≤ ${format(goal.atMost, unit)}` : '–'
}
