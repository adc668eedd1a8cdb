import {
  ApiError,
  AuthenticationError,
  ConnectionError,
  PermissionError,
  UsageError as SdkUsageError,
  TallystickError,
  TimeoutError,
  UnavailableError,
  UnexpectedAnswerError,
} from '../sdk/errors.ts'
import { SourceError } from '../src/verify/source.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'

/** The arguments cannot mean anything: says what to do instead. */
export class UsageError extends Error {}

const EXIT_OF_SOURCE = {
  usage: EXIT.usage,
  unavailable: EXIT.unavailable,
  io: EXIT.io,
  denied: EXIT.denied,
  not_a_ledger: EXIT.notALedger,
} as const

/** Runs a command; what it throws becomes one line on stderr and an exit code. */
export async function run(command: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await command()
  } catch (error) {
    if (error instanceof SourceError) return fail(error.message, EXIT_OF_SOURCE[error.kind])
    if (error instanceof TallystickError) return fail(error.message, exitOfClient(error))
    if (error instanceof UsageError || isParseArgsError(error)) return fail(error.message, EXIT.usage)
    return fail((error as Error).stack ?? String(error), EXIT.software)
  }
}

function exitOfClient(error: TallystickError): ExitCode {
  if (error instanceof SdkUsageError) return EXIT.usage
  if (error instanceof AuthenticationError || error instanceof PermissionError) return EXIT.denied
  if (error instanceof UnexpectedAnswerError) return error.retryable ? EXIT.unavailable : EXIT.notALedger
  if (error instanceof UnavailableError || error instanceof ConnectionError || error instanceof TimeoutError)
    return EXIT.unavailable
  if (error instanceof ApiError) return error.status < 500 ? EXIT.refused : EXIT.unavailable
  return EXIT.unavailable
}

function fail(message: string, code: ExitCode): ExitCode {
  process.stderr.write(`tallystick: ${message}\n`)
  return code
}

function isParseArgsError(error: unknown): error is Error {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS_')
}
