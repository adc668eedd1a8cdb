import { MINUTES, type Series } from './healthy-series.ts'

export type AlertCase = {
  readonly alert: string
  readonly severity: 'page' | 'ticket'
  /**
   * Series of the case. They replace the series of a healthy installation that have the same names. All other series
   * stay, except those in `without`.
   */
  readonly series: Series
  /**
   * True if the case does not use the series of a healthy installation, because evaluating days of those series takes
   * long.
   */
  readonly isAlone?: boolean
  readonly without?: readonly string[]
  readonly atMinute: number
  /** Minutes from the fault until the alert's `for` starts. Some faults count only after a while. The default is 0. */
  readonly ripens?: number
  /**
   * Minutes for which the condition may last without an alert. The default is a third of the alert's `for`. With 0 the
   * alert may fire at once.
   */
  readonly brief?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly description: string
}

export const page = { severity: 'page', atMinute: 100 } as const
export const ticket = { severity: 'ticket', atMinute: 100 } as const
export const once = `0+0x89 1+0x${MINUTES}`
