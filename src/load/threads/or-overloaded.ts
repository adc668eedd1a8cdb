import { ApiError } from '../../errors.ts'
import { ThreadError } from './error.ts'

/** The result of work in a thread. Where that was not done: ApiError `overloaded`, whose detail begins with `what`. */
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
