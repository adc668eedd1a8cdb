import { existsSync, realpathSync } from 'node:fs'
import { parse } from 'node:path'
import { type ParseArgsConfig, parseArgs } from 'node:util'

refuseFileOfCommand(process.argv[1] ?? '')

/**
 * Exits with 2 if a command's file was started as a script, and prints how to start the command. Such a file only
 * exports the command, so it would do nothing and exit with 0. Every command imports this module.
 */
function refuseFileOfCommand(script: string): void {
  const { dir, name } = parse(existsSync(script) ? realpathSync(script) : '')
  if (dir !== import.meta.dirname || name === 'command' || name === 'all-in-one') return
  console.error(
    `tallystick: this file does not run by itself; run: npm run op -- ${name}, or: node src/run/command.ts ${name}`,
  )
  process.exit(2)
}

export type Main = (args: readonly string[]) => Promise<void>
type OptionTable = NonNullable<ParseArgsConfig['options']>
type ValuesOf<Options extends OptionTable> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true }>
>['values']

type Description<Options extends OptionTable> = {
  readonly name: string
  /** Arguments, for the usage; absent: none. */
  readonly argumentsUsage?: string
  /** Lines below the usage: options, or the source of its settings. */
  readonly help: string
  readonly options?: Options
  /** True if it takes arguments that are no options. */
  readonly positionals?: boolean
}

/** Wrong arguments: the usage is printed. */
export class UsageError extends Error {}

/**
 * Makes the `main` of a command that does one thing and ends.
 *
 * With --help it only prints the usage. `work` gets the parsed arguments and returns the exit code, if it is not 0. A
 * failure is one line on standard error and exit code 1; for wrong arguments the usage follows.
 */
export function runsToEnd<const Options extends OptionTable = Record<never, never>>(
  description: Description<Options>,
  work: (values: ValuesOf<Options>, words: readonly string[]) => Promise<number | void>,
): Main {
  const { name, argumentsUsage, help, options, positionals = false } = description
  const usage = `usage: ${argumentsUsage === undefined ? name : `${name} ${argumentsUsage}`}\n\n${help}`
  return async (args) => {
    if (isHelp(args)) {
      console.log(usage)
      return
    }
    try {
      // Unknown arguments MUST be refused: they may be misspelled.
      const parsed = parseArgs({ args: [...args], options: options ?? {}, allowPositionals: positionals })
      const code = await work(parsed.values as ValuesOf<Options>, parsed.positionals)
      if (code) process.exitCode = code
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      console.error(`tallystick ${name}: ${message}`)
      if (error instanceof UsageError || String(code).startsWith('ERR_PARSE_ARGS')) console.error(usage)
      process.exitCode = 1
    }
  }
}

export function isHelp(args: readonly string[]): boolean {
  return args.some((arg) => arg === '--help' || arg === '-h')
}

/** Throws if there are arguments. For services, which read only the environment. */
export function refuseArguments(args: readonly string[]): void {
  parseArgs({ args: [...args] })
}
