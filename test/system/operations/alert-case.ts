import { MINUTES, type Series } from './healthy-series.ts'

export type AlertCase = {
  readonly alert: string
  readonly severity: 'page' | 'ticket'
  /** Replaces series of a healthy installation with the same names. The others stay, except `without`. */
  readonly series: Series
  /** Uses no other series, because days of them take long. */
  readonly isAlone?: boolean
  readonly without?: readonly string[]
  readonly atMinute: number
  /** Minutes from the fault until the `for` starts, for faults that must last a while to count; default: 0. */
  readonly ripens?: number
  /**
   * Minutes for which the condition may last without an alert; default: a third of the `for`. 0: any moment of it may
   * fire.
   */
  readonly brief?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly description: string
}

export const page = { severity: 'page', atMinute: 100 } as const
export const ticket = { severity: 'ticket', atMinute: 100 } as const
export const once = `0+0x89 1+0x${MINUTES}`
