import { UsageError } from './errors.ts'

/** Milliseconds since the epoch. A time that is none would be neither too early nor too late. */
export function nowMs(now: Date | undefined): number {
  const ms = now === undefined ? Date.now() : now instanceof Date ? now.getTime() : Number.NaN
  if (Number.isNaN(ms)) throw new UsageError('now is a valid Date')
  return ms
}
