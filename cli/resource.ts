import { noArguments, onlyArgument } from './arguments.ts'
import { type Command, defineCommand, type OptionTable, type ValuesOf } from './command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from './connection.ts'
import { EXIT } from './exit-codes.ts'
import type { Io } from './io.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from './limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItem, printItems } from './output.ts'

/*
 * Makes commands that send one request and print the answer. The commands of a resource are data in
 * cli/commands/<resource>.ts.
 */

type Client = Awaited<ReturnType<typeof connect>>

type CommandSpec<Options extends OptionTable> = {
  /** Words of the command and its argument, such as `keys get KEY`. */
  readonly usage: string
  /** Optional arguments, for the usage line. */
  readonly flags?: string
  /** What the command does, and the scope that it needs. */
  readonly about: string
  readonly options?: Options
  /** Help of `options`, one line each. */
  readonly optionsHelp?: string
  /**
   * Examples, without the word `tallystick`. An example that begins with `$ ` is any shell command, and is shown
   * without that prefix.
   */
  readonly examples: readonly string[]
}

/**
 * Makes a command that prints one object. `parse` makes the request from the options before anything is sent, or
 * throws UsageError.
 */
export function showItem<
  const Options extends OptionTable = Record<never, never>,
  Request = ValuesOf<Options>,
>(
  command: CommandSpec<Options> & {
    readonly parse?: (values: ValuesOf<Options>, argument: string, io: Io) => Request | Promise<Request>
    readonly request: (client: Client, argument: string, request: Request) => Promise<object>
  },
): Command {
  return defineCommand({
    help: helpOf(command, []),
    options: { ...command.options, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
    async run(given, positionals, io) {
      const values = given as ValuesOf<Options> & typeof given
      const argument = argumentOf(command.usage, positionals)
      const request = command.parse ? await command.parse(values, argument, io) : (values as Request)
      const client = await connect(values)
      printItem(await command.request(client, argument, request), values.json, io.stdout)
      return EXIT.ok
    },
  })
}

/** Makes a command that prints many objects: a table on a terminal, otherwise one line of JSON for each. */
export function listItems<T extends object, const Options extends OptionTable = Record<never, never>>(
  command: CommandSpec<Options> & {
    readonly columns: readonly Column<T>[]
    readonly request: (
      client: Client,
      argument: string,
      values: ValuesOf<Options>,
    ) => AsyncIterable<T> | Promise<AsyncIterable<T>>
  },
): Command {
  return defineCommand({
    help: helpOf(command, [LIMIT_HELP]),
    options: { ...command.options, ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
    async run(given, positionals, io) {
      const values = given as ValuesOf<Options> & typeof given
      const argument = argumentOf(command.usage, positionals)
      const client = await connect(values)
      const items = limited(await command.request(client, argument, values), values, io)
      await printItems(items, command.columns, values.json, io.stdout)
      return EXIT.ok
    },
  })
}

/**
 * Returns the argument that `usage` names in capitals, or an empty text if it names none. Throws UsageError for too few
 * or too many arguments.
 */
function argumentOf(usage: string, positionals: readonly string[]): string {
  if (/ [A-Z]/.test(usage)) return onlyArgument(positionals, usage)
  noArguments(positionals, usage)
  return ''
}

function helpOf(
  { usage, flags, about, optionsHelp, examples }: CommandSpec<OptionTable>,
  more: readonly string[],
): string {
  const options = [...(optionsHelp === undefined ? [] : [optionsHelp]), ...more, OUTPUT_HELP, CONNECTION_HELP]
  return `tallystick ${flags === undefined ? usage : `${usage} ${flags}`}

${about}

${options.join('\n')}
  -h, --help

Examples:
${examples.map((example) => `  ${example.startsWith('$ ') ? example.slice(2) : `tallystick ${example}`}`).join('\n')}
`
}
