import { CLOCK_BEHIND_MS_MAX } from './limits.ts'

/** Clocks of a worker, in milliseconds since 1970. */
export type Clocks = {
  /** Clock of the database, which stamps entries. */
  readonly now: () => number
  readonly machineNow: () => number
}

/**
 * Returns the latest time that both clocks have reached; this machine's may be CLOCK_BEHIND_MS_MAX late. Use it
 * before signing anything because a time has passed: if only the database's clock were set ahead, records would
 * expire and documents be erased too early.
 */
export function agreedTime({ now, machineNow }: Clocks): number {
  return Math.min(now(), machineNow() + CLOCK_BEHIND_MS_MAX)
}
