import { type Figure, type Measure, TOLERANCES } from './figures.ts'

/** A figure of both trees: medians of their runs, ratio of the medians, and lowest and highest ratio of a round. */
export type Ratio = {
  readonly row: string
  readonly measure: Measure
  /** null: at least one run of the tree lacks the figure. */
  readonly mine: number | null
  readonly other: number | null
  readonly ratio: number | null
  readonly lowest: number
  readonly highest: number
  readonly verdict: Verdict
}
type Verdict = 'worse' | 'better' | 'within tolerance' | 'not compared'

type Runs = readonly (readonly Figure[])[]

/** Compares the runs of this tree with those of the other revision. Runs of one round have the same index. */
export function compareRuns(mine: Runs, others: Runs): Ratio[] {
  const keys = new Map([...mine, ...others].flat().map((figure) => [keyOf(figure), figure]))
  return [...keys].map(([key, { row, measure }]) => {
    const [my, their] = [valuesOf(mine, key), valuesOf(others, key)]
    const ratio = my && their && median(their) > 0 ? median(my) / median(their) : null
    const rounds = ratio === null ? [] : my!.map((value, i) => value / their![i]!)
    return {
      ...{ row, measure, ratio },
      mine: my && median(my),
      other: their && median(their),
      lowest: Math.min(...rounds),
      highest: Math.max(...rounds),
      verdict: judge(measure, ratio),
    }
  })
}

/** Compares a ratio with the tolerance of its measure. null: the ratio is unknown. */
export function judge(measure: Measure, ratio: number | null): Verdict {
  if (ratio === null) return 'not compared'
  const limit = TOLERANCES[measure]
  // If the limit is below 1, more is better. Then the ratio is inverted, so that a high value is bad for each measure.
  const [badness, badnessMax] = limit < 1 ? [1 / ratio, 1 / limit] : [ratio, limit]
  if (badness > badnessMax) return 'worse'
  return badness < 1 / badnessMax ? 'better' : 'within tolerance'
}

export function ratioCells(kind: string, { row, measure, verdict, ...values }: Ratio): string[] {
  const { mine, other, ratio, lowest, highest } = values
  return [
    ...[`${kind}: ${row}`, measure, formatFigure(mine), formatFigure(other)],
    ratio?.toFixed(2) ?? '–',
    ratio === null ? '–' : `${lowest.toFixed(2)} to ${highest.toFixed(2)}`,
    verdict === 'within tolerance' ? '' : verdict,
  ]
}

/**
 * Returns whether a comparison has passed: no ratio is worse than its tolerance, and nothing failed. `lines`: the
 * faults, the number of runs on a busy machine, and the number of worse figures.
 */
export function conclude(
  ratios: readonly Ratio[],
  faults: readonly string[],
  counts: { readonly runs: number; readonly busy: number },
): { readonly ok: boolean; readonly lines: readonly string[] } {
  const worse = ratios.filter(({ verdict }) => verdict === 'worse').length
  return {
    ok: worse === 0 && faults.length === 0,
    lines: [
      ...faults.map((fault) => `! ${fault}`),
      `machine busy in ${counts.busy} of ${counts.runs} runs`,
      ...(worse === 0 ? [] : [`${worse} of ${ratios.length} figures worse than their tolerance`]),
    ],
  }
}

/** Returns rows of the first table of docs/BENCHMARKS.md: one for each load of the kind. */
export function tableRows(kind: string, figures: readonly Figure[]): string[] {
  const rows = [...new Set(figures.map(({ row }) => row))]
  return rows.map((row, i) => {
    const of = (measure: Measure) =>
      figures.find((figure) => figure.row === row && figure.measure === measure)?.value ?? null
    const cpu = (['server', 'postgres', 'worker'] as const).flatMap((name) => {
      const micros = of(`${name} µs`)
      return micros === null ? [] : [`${name} ${formatFigure(micros)}`]
    })
    const inserts = of('× plain inserts')
    const notes = [
      ...(inserts === null ? [] : [`${inserts.toFixed(2)} × plain inserts`]),
      ...(cpu.length === 0 ? [] : [`CPU: ${cpu.join(', ')} µs`]),
    ]
    const work = `${i === 0 ? `**${kind}**,` : '…'} ${row}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`
    const cells = (['a second', 'p50 ms', 'p99 ms'] as const).map((measure) => formatFigure(of(measure), ''))
    return `| ${[work, ...cells, `\`${kind}\``].join(' | ')} |`
  })
}

/** Formats a number below 100 with three significant digits, and a larger number as an integer. */
function formatFigure(value: number | null, none = '–'): string {
  if (value === null) return none
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}

/** Returns the values of all runs, or null if a run lacks the figure. */
function valuesOf(runs: Runs, key: string): number[] | null {
  const values = runs.flatMap((figures) => figures.find((figure) => keyOf(figure) === key)?.value ?? [])
  return values.length === runs.length ? values : null
}

const keyOf = ({ row, measure }: Figure) => `${row} · ${measure}`

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}
