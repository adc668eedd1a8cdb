import { TallystickError } from '../../sdk/errors.ts'
import { SourceError } from '../../src/verify/source.ts'
import { RefusedError, UsageError } from '../run.ts'

/** Message of an error that is meant for people; any other is a fault of this program. */
export function messageOf(error: unknown): string {
  const isExpected = [UsageError, SourceError, RefusedError, TallystickError].some(
    (Known) => error instanceof Known,
  )
  if (!isExpected) throw error
  return (error as Error).message
}
