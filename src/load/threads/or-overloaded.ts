import { ApiError } from '../../errors.ts'
import { ThreadError } from './error.ts'

/**
 * Awaits the work of a thread. Converts a ThreadError to ApiError `overloaded`. `what`: start of the error's detail.
 */
export async function orOverloaded<T>(work: Promise<T>, what: string): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ThreadError)) throw error
    throw new ApiError('overloaded', `${what}: ${error.message}`, {
      retryable: true,
      retryAfterMs: 1_000,
      cause: error,
    })
  }
}
