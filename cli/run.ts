import {
  ApiError,
  AuthenticationError,
  PermissionError,
  RateLimitError,
  UsageError as SdkUsageError,
  SecretLostError,
  TallystickError,
  UnexpectedAnswerError,
  UnknownOutcomeError,
} from '../sdk/errors.ts'
import { plain } from '../sdk/plain.ts'
import { ProofError } from '../src/proof/error.ts'
import { SourceError } from '../src/verify/source.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import type { Out } from './io.ts'

/** Thrown for invalid arguments. The message tells the user what to do instead. */
export class UsageError extends Error {}

/** Runs `make`. Converts its error to UsageError, because arguments or environment caused the error. */
export function asUsage<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Thrown for input that is not JSON, or not the expected JSON. */
export class InputError extends Error {}

/** Thrown if this tool itself refuses something. A server's refusal is another error. */
export class RefusedError extends Error {}

const EXIT_OF_SOURCE = {
  usage: EXIT.usage,
  unavailable: EXIT.unavailable,
  io: EXIT.io,
  denied: EXIT.denied,
  not_a_ledger: EXIT.notALedger,
} as const

/** Runs a command. An error becomes one line on stderr and an exit code. */
export async function run(command: () => Promise<ExitCode>, stderr: Out): Promise<ExitCode> {
  try {
    return await command()
  } catch (error) {
    const code = exitOf(error)
    stderr.write(`tallystick: ${describe(error, code)}\n`)
    return code
  }
}

function describe(error: unknown, code: ExitCode): string {
  // The message is escaped, because a line break in a server's text could imitate a line of this tool, such as the last
  // line of `verify`.
  if (code !== EXIT.software) return plain((error as Error).message)
  // The stack is printed, because the error is a bug of this program and its developers need the stack.
  const stack = (error as Error).stack ?? String(error)
  return stack.split('\n').map(plain).join('\n')
}

function exitOf(error: unknown): ExitCode {
  if (error instanceof SourceError) return EXIT_OF_SOURCE[error.kind]
  if (error instanceof TallystickError) return exitOfClient(error)
  if (error instanceof UsageError || isParseArgsError(error)) return EXIT.usage
  if (error instanceof InputError) return EXIT.badInput
  if (error instanceof ProofError) return EXIT.notALedger
  if (error instanceof RefusedError) return EXIT.refused
  return isLocalFault(error) ? EXIT.io : EXIT.software
}

/** Error codes of local files, disks and limits. A server cannot cause them. */
const LOCAL_CODES = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS', 'EIO', 'EMFILE', 'ENFILE'])

/**
 * Returns whether a local file operation failed. Errors of sockets do not count. They have no path, or they come from
 * `connect` or `listen`.
 */
function isLocalFault(error: unknown): boolean {
  const { code, syscall, path } = error as NodeJS.ErrnoException
  if (syscall === undefined) return false
  return LOCAL_CODES.has(code ?? '') || (path !== undefined && syscall !== 'connect' && syscall !== 'listen')
}

function exitOfClient(error: TallystickError): ExitCode {
  if (error instanceof SdkUsageError) return EXIT.usage
  if (error instanceof AuthenticationError || error instanceof PermissionError) return EXIT.denied
  if (error instanceof UnexpectedAnswerError) return error.retryable ? EXIT.unavailable : EXIT.notALedger
  if (error instanceof RateLimitError || error instanceof SecretLostError) return EXIT.unavailable
  if (error instanceof ApiError) return error.status < 500 ? EXIT.refused : EXIT.unavailable
  // A request with a retryable error or an unknown outcome may succeed if it is repeated. Any other error would occur
  // again.
  return error.retryable || error instanceof UnknownOutcomeError ? EXIT.unavailable : EXIT.refused
}

function isParseArgsError(error: unknown): error is Error {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS_')
}
