import { MINUTES, type Series } from './healthy-series.ts'

export type AlertCase = {
  readonly alert: string
  readonly severity: 'page' | 'ticket'
  /** In place of those of a healthy installation with the same names; the others are as they are there, but for `without`. */
  readonly series: Series
  /** With no others, because days of them take long. */
  readonly isAlone?: boolean
  /** Metrics that are not there. */
  readonly without?: readonly string[]
  readonly atMinute: number
  /** Minutes from the fault to the moment from which the `for` counts, where it has to last for a while to be one; 0 unless said. */
  readonly ripens?: number
  /** Minutes in which the fault is none yet; a third of the `for` unless said. 0: each moment of it may be one. */
  readonly brief?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly description: string
}

export const page = { severity: 'page', atMinute: 100 } as const
export const ticket = { severity: 'ticket', atMinute: 100 } as const
/** Once, at minute 90. */
export const once = `0+0x89 1+0x${MINUTES}`
