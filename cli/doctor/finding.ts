import { TallystickError } from '../../sdk/errors.ts'
import { SourceError } from '../../src/verify/source.ts'
import { RefusedError, UsageError } from '../run.ts'

/** What one check found, and what to do about it where it is not ok. skip: the key may not look. */
export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail' | 'skip'
  readonly detail: string
  readonly advice: string | null
}

export function ok(check: string, detail: string): Finding {
  return { check, status: 'ok', detail, advice: null }
}
export function warn(check: string, detail: string, advice: string | null): Finding {
  return { check, status: 'warn', detail, advice }
}
export function fail(check: string, detail: string, advice: string | null): Finding {
  return { check, status: 'fail', detail, advice }
}

/** Of an error that is meant for people; any other is a fault of this program. */
export function messageOf(error: unknown): string {
  const isExpected = [UsageError, SourceError, RefusedError, TallystickError].some(
    (Known) => error instanceof Known,
  )
  if (!isExpected) throw error
  return (error as Error).message
}
