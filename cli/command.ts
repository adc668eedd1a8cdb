import { type ParseArgsConfig, parseArgs } from 'node:util'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { type Io, PROCESS_IO } from './io.ts'

export type OptionTable = NonNullable<ParseArgsConfig['options']>

export type ValuesOf<Options extends OptionTable> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true }>
>['values']

/** A command of `tallystick`. Its options are data, so that the help always matches them. */
export type Command = {
  /** Output of `--help`. The first line is the usage. */
  readonly help: string
  readonly options: OptionTable
  /** Throws UsageError, SourceError or TallystickError. cli/run.ts prints the error and chooses the exit code. */
  run(args: readonly string[], io?: Io): Promise<ExitCode>
}

export function defineCommand<const Options extends OptionTable>(command: {
  readonly help: string
  readonly options: Options
  readonly run: (values: ValuesOf<Options>, positionals: readonly string[], io: Io) => Promise<ExitCode>
}): Command {
  const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const
  return {
    help: command.help,
    options,
    async run(args, io = PROCESS_IO) {
      const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
      if ((values as { help?: boolean }).help) {
        io.stdout.write(command.help)
        return EXIT.ok
      }
      return command.run(values as ValuesOf<Options>, positionals, io)
    },
  }
}
