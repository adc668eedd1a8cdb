import { existsSync, realpathSync } from 'node:fs'
import { parse } from 'node:path'
import { type ParseArgsConfig, parseArgs } from 'node:util'

refuseFileOfCommand(process.argv[1] ?? '')

/**
 * A command's file only says what the command does: as a script it would do nothing and exit with 0. Each of them imports this one, so here
 * it says how to start the command, and exits with 2.
 */
function refuseFileOfCommand(script: string): void {
  const { dir, name } = parse(existsSync(script) ? realpathSync(script) : '')
  if (dir !== import.meta.dirname || name === 'command' || name === 'all-in-one') return
  console.error(
    `tallystick: this file starts nothing; run: npm run op -- ${name}, or: node src/run/command.ts ${name}`,
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
  /** Arguments, as the usage has them; without: it takes none. */
  readonly takes?: string
  /** Lines below the usage: options, or where else its settings come from. */
  readonly help: string
  readonly options?: Options
  /** Whether it takes words that are no options. */
  readonly words?: boolean
}

/** The command was not called as its usage says. */
export class UsageError extends Error {}

/**
 * The `main` of a command that does one thing and ends. With --help it only prints the usage. `work` gets the parsed arguments and returns
 * the exit code, if it is not 0. A failure is a line on standard error and exit code 1; if the arguments were wrong, the usage follows.
 */
export function runsToEnd<const Options extends OptionTable = Record<never, never>>(
  description: Description<Options>,
  work: (values: ValuesOf<Options>, words: readonly string[]) => Promise<number | void>,
): Main {
  const { name, takes, help, options, words = false } = description
  const usage = `usage: ${takes === undefined ? name : `${name} ${takes}`}\n\n${help}`
  return async (args) => {
    if (isHelp(args)) {
      console.log(usage)
      return
    }
    try {
      // An argument that the command does not take MUST NOT be ignored: it may be a mistyped one.
      const parsed = parseArgs({ args: [...args], options: options ?? {}, allowPositionals: words })
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
