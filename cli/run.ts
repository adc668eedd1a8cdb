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
    if (error instanceof UsageError || isParseArgsError(error)) return fail(error.message, EXIT.usage)
    return fail((error as Error).stack ?? String(error), EXIT.software)
  }
}

function fail(message: string, code: ExitCode): ExitCode {
  process.stderr.write(`tallystick: ${message}\n`)
  return code
}

function isParseArgsError(error: unknown): error is Error {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS_')
}
