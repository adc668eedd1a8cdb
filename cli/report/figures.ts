import { PLOT_BARS_MAX, REPORT_OUTCOMES_MAX } from './limits.ts'
import { OTHER_OUTCOME, type ReportRow } from './rows.ts'

const MS_PER_DAY = 86_400_000

/** Counts of one day, `YYYY-MM-DD` in UTC. */
export type DayFigures = {
  readonly day: string
  rows: number
  denied: number
  outcomes: Record<string, number>
}

/** Counts rows by day and by outcome. */
export class Figures {
  readonly #days = new Map<string, DayFigures>()
  readonly #names = new Set<string>()
  rows = 0

  add({ recordedAt, outcome, denied }: ReportRow): void {
    const day = recordedAt.slice(0, 10)
    let figures = this.#days.get(day)
    if (!figures) {
      figures = { day, rows: 0, denied: 0, outcomes: Object.create(null) }
      this.#days.set(day, figures)
    }
    this.rows++
    figures.rows++
    if (denied) figures.denied++
    if (outcome === '') return
    if (this.#names.size < REPORT_OUTCOMES_MAX) this.#names.add(outcome)
    const name = this.#names.has(outcome) ? outcome : OTHER_OUTCOME
    figures.outcomes[name] = (figures.outcomes[name] ?? 0) + 1
  }

  /** Returns the days in order, without days that have no rows. */
  get days(): DayFigures[] {
    return [...this.#days.values()].sort((a, b) => (a.day < b.day ? -1 : 1))
  }

  get outcomes(): Record<string, number> {
    const sum: Record<string, number> = Object.create(null)
    for (const { outcomes } of this.#days.values())
      for (const [name, count] of Object.entries(outcomes)) sum[name] = (sum[name] ?? 0) + count
    return sum
  }

  /**
   * Returns the bars of a plot over time. Each bar covers several days if single days would give more than
   * PLOT_BARS_MAX bars.
   */
  bars(read: (figures: DayFigures) => number): { readonly from: string; readonly value: number }[] {
    const days = this.days
    const [first, last] = [days[0], days.at(-1)]
    if (!first || !last) return []
    const firstMs = Date.parse(first.day)
    const count = (Date.parse(last.day) - firstMs) / MS_PER_DAY + 1
    const perBar = Math.ceil(count / PLOT_BARS_MAX)
    const bars = Array.from({ length: Math.ceil(count / perBar) }, (_, i) => ({
      from: new Date(firstMs + i * perBar * MS_PER_DAY).toISOString().slice(0, 10),
      value: 0,
    }))
    for (const figures of days)
      bars[Math.floor((Date.parse(figures.day) - firstMs) / MS_PER_DAY / perBar)]!.value += read(figures)
    return bars
  }
}
