import { parseArgs } from 'node:util'

/** The command was not called as its usage says. */
export class UsageError extends Error {}

/**
 * Runs a command that does one thing and ends. A failure is a line on standard error and exit code 1; if the arguments were wrong, the
 * usage follows.
 */
export async function runToEnd(name: string, usage: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    console.error(`tallystick ${name}: ${message}`)
    if (error instanceof UsageError || String(code).startsWith('ERR_PARSE_ARGS')) console.error(usage)
    process.exitCode = 1
  }
}

/** For what is told everything by the environment: who asks it for `--help` must not find that it was done. */
export function refuseArguments(args: readonly string[]): void {
  parseArgs({ args: [...args] })
}
