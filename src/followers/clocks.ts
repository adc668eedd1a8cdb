import { CLOCK_BEHIND_MS_MAX } from './limits.ts'

/** Clocks of a worker, in milliseconds since 1970. */
export type Clocks = {
  /** The database's: entries are stamped by it. */
  readonly now: () => number
  /** This machine's. */
  readonly machineNow: () => number
}

/**
 * Returns the latest time that both clocks have reached; this machine's may be CLOCK_BEHIND_MS_MAX late. A signature that is made because
 * a time has passed needs it: the database's clock alone, set ahead, would have records expire and documents erased too early.
 */
export function agreedTime({ now, machineNow }: Clocks): number {
  return Math.min(now(), machineNow() + CLOCK_BEHIND_MS_MAX)
}
