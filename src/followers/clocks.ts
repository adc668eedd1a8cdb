import { CLOCK_BEHIND_MS_MAX } from './limits.ts'

/** The clocks of a worker. Times are in milliseconds since 1970. */
export type Clocks = {
  /** The database's clock. Entries get their times from it. */
  readonly now: () => number
  readonly machineNow: () => number
}

/**
 * Returns the latest time that both clocks have reached. This machine's clock may be CLOCK_BEHIND_MS_MAX behind.
 *
 * Use this before signing something because a time has passed. If only the database's clock counted and it was set
 * ahead, records would expire and documents would be erased too early.
 */
export function agreedTime({ now, machineNow }: Clocks): number {
  return Math.min(now(), machineNow() + CLOCK_BEHIND_MS_MAX)
}
