import type { K6Report } from '../k6/types.ts'
import { type Report, ratioOf } from '../report.ts'

/**
 * Worst ratio that is within tolerance, for each measure. A ratio is the figure of this tree, divided by the figure of
 * the other revision. If the worst ratio is below 1, a higher figure is better.
 */
export const TOLERANCES = {
  'a second': 0.9,
  '× plain inserts': 0.9,
  'p50 ms': 1.3,
  'p99 ms': 1.3,
  'server µs': 1.1,
  'postgres µs': 1.1,
  'worker µs': 1.1,
} as const
export type Measure = keyof typeof TOLERANCES

/** A figure of a run. `row` names the load within its kind of work, such as `128 connections`. */
export type Figure = { readonly row: string; readonly measure: Measure; readonly value: number }

/** `others`: the most cores that other programs used in a measured window; 0 if the run did not measure this. */
export type Measured = { readonly figures: readonly Figure[]; readonly others: number }

const MEASURED_PROCESSES = ['server', 'postgres', 'worker'] as const
const NS_PER_MS = 1e6

/** Reads the JSON report of a scenario of bench/bench.ts. */
export function readReport(report: Pick<Report, 'rounds' | 'references'>): Measured {
  const phases = report.rounds.flatMap((round) => round.phases)
  const figures = phases.flatMap((phase): Figure[] => {
    const { name: row, load, cpu } = phase
    const { latency, refusals, itemsPerSecond } = load
    const inserts = ratioOf(phase, report.references)
    return [
      { row, measure: 'a second', value: itemsPerSecond },
      ...(inserts === null ? [] : [{ row, measure: '× plain inserts', value: inserts } as const]),
      ...latencies(row, latency),
      ...MEASURED_PROCESSES.filter((name) => name in cpu).map(
        (name): Figure => ({ row, measure: `${name} µs`, value: (cpu[name]! * 1e6) / itemsPerSecond }),
      ),
      ...(refusals.count === 0 ? [] : latencies(`${row}, refused`, refusals)),
    ]
  })
  return { figures, others: Math.max(0, ...phases.map(({ cpu }) => cpu['others'] ?? 0)) }
}

/** Reads the JSON report of a script of k6. Each published figure is a row. */
export function readK6Report(report: Pick<K6Report, 'published' | 'figures' | 'rounds'>): Measured {
  const measures: Readonly<Record<string, Measure>> = { '/s': 'a second', ms: 'p50 ms' }
  const figures = report.published.figures.flatMap(({ id, name: row, unit }): Figure[] => {
    const [value, measure] = [report.figures[id] ?? null, measures[unit]]
    if (value === null || measure === undefined) return []
    return [{ row, measure: /p99/i.test(id) ? 'p99 ms' : measure, value }]
  })
  const runs = report.rounds.flatMap((round) => round.runs)
  return { figures, others: Math.max(0, ...runs.map(({ cpu }) => cpu['others'] ?? 0)) }
}

/**
 * Returns a function that reads a printed table. It reads the rows whose first cell matches `names`. `columns` has the
 * measure of each further cell, or null to skip the cell. Throws if a cell has no number, or if no row matches.
 */
export function tableReader(names: RegExp, columns: readonly (Measure | null)[]) {
  return (text: string): Measured => {
    const rows = text.split('\n').map((line) => line.split(/ {2,}/))
    const figures = rows.flatMap(([row, ...cells]): Figure[] => {
      if (!names.test(row!) || cells.length < columns.length) return []
      return columns.flatMap((measure, i) =>
        measure === null ? [] : [{ row: row!, measure, value: numberOf(cells[i]!, row!) }],
      )
    })
    if (figures.length === 0) throw new Error(`its output has no row of ${names}`)
    return { figures, others: 0 }
  }
}

const RETENTION =
  /: ([\d,]+) documents\/s, .*CPU of the worker ([\d.]+) us a document, of Postgres ([\d.]+) us/

/** Reads the line that bench/micro/retention.ts prints. */
export function readRetention(text: string): Measured {
  const found = RETENTION.exec(text)
  if (found === null) throw new Error('its output has no documents/s')
  const measures = ['a second', 'worker µs', 'postgres µs'] as const
  const row = 'documents'
  const figures = measures.map((measure, i) => ({ row, measure, value: numberOf(found[i + 1]!, row) }))
  return { figures, others: 0 }
}

function latencies(row: string, { p50, p99 }: { readonly p50: number; readonly p99: number }): Figure[] {
  return [
    { row, measure: 'p50 ms', value: p50 / NS_PER_MS },
    { row, measure: 'p99 ms', value: p99 / NS_PER_MS },
  ]
}

/** Parses a printed number: `26,288` or `12.3 ms`. */
function numberOf(cell: string, row: string): number {
  const value = Number.parseFloat(cell.replaceAll(',', ''))
  if (Number.isFinite(value)) return value
  throw new Error(`${row}: ${cell} is no number`)
}
