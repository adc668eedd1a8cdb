import { CLOCK_BEHIND_MS_MAX } from './limits.ts'

/** Clocks of a worker, in milliseconds since 1970. */
export type Clocks = {
  /** The database's clock, which stamps entries. */
  readonly now: () => number
  readonly machineNow: () => number
}

/**
 * Returns the latest time that both clocks have reached; this machine's clock may be CLOCK_BEHIND_MS_MAX behind.
 *
 * Use it before signing anything because a time has passed. With the database's clock alone, a clock that was set
 * ahead would expire records and erase documents too early.
 */
export function agreedTime({ now, machineNow }: Clocks): number {
  return Math.min(now(), machineNow() + CLOCK_BEHIND_MS_MAX)
}
