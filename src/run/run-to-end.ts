import { existsSync, realpathSync } from 'node:fs'
import { parse } from 'node:path'
import { type ParseArgsConfig, parseArgs } from 'node:util'

refuseFileOfCommand(process.argv[1] ?? '')

/**
 * If a command's file was started as a script, prints how to start the command, and exits with 2. The file only exports
 * the command, so it would otherwise do nothing and exit with 0. Every command imports this module.
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
  /** Arguments, for the usage text; absent if the command takes no arguments. */
  readonly argumentsUsage?: string
  /** Lines below the usage text: the options, or where the settings come from. */
  readonly help: string
  readonly options?: Options
  /** True if the command takes arguments that are not options. */
  readonly positionals?: boolean
}

/** Error for wrong arguments. The command then also prints its usage. */
export class UsageError extends Error {}

/**
 * Makes the `main` of a command that does one thing and ends.
 *
 * With --help, the command only prints its usage. Otherwise `work` gets the parsed arguments, and returns the exit code
 * or nothing for 0. A failure prints one line on standard error and exits with 1. For wrong arguments, the usage
 * follows.
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
      // Unknown arguments MUST be refused, because they may be misspelled options.
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

/** Throws if there are arguments. Services use it, because they read only the environment. */
export function refuseArguments(args: readonly string[]): void {
  parseArgs({ args: [...args] })
}
