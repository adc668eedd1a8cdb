import { OTHERS_CORES_MAX } from '../cpu.ts'
import { printTable } from '../table.ts'
import { describeAudit, formatValue, isMet } from './figures.ts'
import type { K6Report, Published, ScriptName } from './types.ts'

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
        console.log('  BUSY MACHINE: something else used it meanwhile')
      for (const warning of run.warnings) console.log(`  k6: ${warning}`)
    }
    console.log(describeAudit({ audit }))
  }
  for (const fault of report.faults) console.log(`FAULT ${fault}`)
}

/** Published elsewhere, here, goal: the same table in the console, in the report, and in docs. */
export function rowsOf({ published, figures }: Pick<K6Report, 'published' | 'figures'>): string[][] {
  const rows = published.figures.filter(({ id }) => figures[id] !== undefined)
  return [
    ['', 'published elsewhere (other hardware)', 'here', 'goal', ''],
    ...rows.map(({ id, name, unit, published: elsewhere, goal }) => {
      const met = isMet(goal, figures[id])
      return [
        name,
        format(elsewhere, unit),
        format(figures[id], unit),
        formatGoal(goal, unit),
        met === null ? '' : met ? 'met' : 'not met',
      ]
    }),
  ]
}

/** One line for each script, at the end of `all`. */
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
