import { TallystickError } from '../../sdk/errors.ts'
import { SourceError } from '../../src/verify/source.ts'
import { RefusedError, UsageError } from '../run.ts'

/**
 * Returns the message if the error is one that is meant for users. Throws any other error, because it is a bug of this
 * program.
 */
export function messageOf(error: unknown): string {
  const isExpected = [UsageError, SourceError, RefusedError, TallystickError].some(
    (Known) => error instanceof Known,
  )
  if (!isExpected) throw error
  return (error as Error).message
}
