import { ConnectError } from '../db/connect/connect-error.ts'
import { ApiError } from '../errors.ts'
import { ProofError } from '../proof/error.ts'
import { SourceError } from './source.ts'

/** Yields `rows`. Turns an error of Postgres or the network into a SourceError, like `translated`. */
export async function* translatedRows<T>(name: string, rows: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* rows
  } catch (error) {
    throw translate(name, error)
  }
}

/** Runs `work`. Turns an error of Postgres or the network into a SourceError that names the database. */
export async function translated<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw translate(name, error)
  }
}

/**
 * Returns a SourceError for an error of Postgres or the network. Its text says what the user can do, and never shows
 * the URL's password. Returns other errors unchanged.
 */
function translate(name: string, error: unknown): unknown {
  if (error instanceof ProofError || error instanceof SourceError) return error
  if (error instanceof ApiError)
    return new SourceError('unavailable', `${name}: ${error.message}`, { cause: error })
  const { code, message } = error as { code?: string; message: string }
  // The error comes from this program and not from Postgres or the network.
  if (code === undefined && !/connection|timeout/i.test(message)) return error
  const options = { cause: error }
  if (code === '28P01' || code === '28000')
    return new SourceError('denied', `${name} refuses the login`, options)
  if (code === '42501')
    return new SourceError('denied', `${name}: this login may not read everything (${message})`, options)
  // This code comes from a pooler, for example with the message `unsupported startup parameter: statement_timeout`.
  if (code === '08P01')
    return new SourceError(
      'unavailable',
      `${name} refuses the connection (${message}): connect to Postgres directly`,
      options,
    )
  if (code === '53300')
    return new SourceError(
      'unavailable',
      `${name} has no connection left for this login (${message})`,
      options,
    )
  if (code === '3D000') return new SourceError('not_a_ledger', `${name}: there is no such database`, options)
  if (code === '42P01' || code === '42703' || code === '3F000') {
    return new SourceError(
      'not_a_ledger',
      `${name} does not have the schema of this version (${message})`,
      options,
    )
  }
  if (error instanceof ConnectError) return new SourceError('unavailable', message, options)
  return new SourceError('unavailable', `${name} cannot be read (${code ?? message})`, options)
}
