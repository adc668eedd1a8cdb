import { UsageError } from './errors.ts'

/**
 * Returns `now`, or the current time, in milliseconds since the epoch. Throws UsageError for an invalid Date, because
 * NaN would pass every comparison.
 */
export function nowMs(now: Date | undefined): number {
  const ms = now === undefined ? Date.now() : now instanceof Date ? now.getTime() : Number.NaN
  if (Number.isNaN(ms)) throw new UsageError('the option `now` must be a valid Date')
  return ms
}
