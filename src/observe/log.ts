import { type DestinationStream, type Logger, pino } from 'pino'
import { StandardOutput } from './standard-output.ts'

/**
 * Opens a log of JSON lines, by default on standard output. Headers are never logged, so that API keys never reach the
 * log.
 */
export function openLog(level: string, destination: DestinationStream = new StandardOutput()): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
  }
  const log = pino(options, destination)
  if (destination instanceof StandardOutput)
    destination.onLoss((lines) =>
      log.error({ lines }, 'log lines were dropped: nothing read the output in time'),
    )
  return log
}

export type ErrorDescription = {
  readonly type?: unknown
  readonly message?: unknown
  readonly stack?: unknown
  readonly code?: unknown
  readonly constraint?: unknown
  readonly table?: unknown
  readonly cause?: ErrorDescription
}

/**
 * Describes an error for the log. Only selected fields are logged, because other fields may be secret. The `detail` of
 * a Postgres error contains values of the row, which may come from a payload. An error of a connection contains the
 * whole client, with the key that cancels its queries.
 */
export function describeError(error: unknown): ErrorDescription {
  const { name, message, stack, code, constraint, table } = error as Error & Record<string, unknown>
  const cause = (error as Error).cause
  return {
    type: name,
    message,
    stack,
    ...(code !== undefined && { code }),
    ...(constraint !== undefined && { constraint, table }),
    ...(cause instanceof Error && { cause: describeError(cause) }),
  }
}
