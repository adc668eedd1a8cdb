import { onlyArgument } from './arguments.ts'
import { type Command, defineCommand } from './command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from './connection.ts'
import { EXIT } from './exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from './output.ts'
import { STEP_HELP, STEP_OPTIONS, stepOptions, writeMembers } from './record-options.ts'
import { UsageError } from './run.ts'

type Step = {
  readonly name: string
  /** Description of the step, and whose it is: a line for people. */
  readonly does: string
  readonly reasonExample: string
  readonly method: 'cancel' | 'requestRevision'
}

/** A step of the principal's that needs a reason, and nothing else. */
export function defineReasonedStep({ name, does, reasonExample, method }: Step): Command {
  const help = `tallystick ${name} RECORD --reason TEXT [--if-version N]

${does}

  --reason TEXT          why, for people; can be erased
${STEP_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick ${name} rec_01kd2m3n4p5q6r7s8t9v0w1x2y --reason '${reasonExample}'
`
  return defineCommand({
    help,
    options: { reason: { type: 'string' }, ...STEP_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
    async run(values, positionals, io) {
      const id = onlyArgument(positionals, `${name} RECORD --reason TEXT`)
      if (values.reason === undefined) throw new UsageError(`${name} needs --reason TEXT`)
      const { records } = await connect(values)
      const body = { reason: values.reason, ...writeMembers(values) }
      const record = await records[method](id, body, stepOptions(values))
      printItem(record, values.json, io.stdout)
      return EXIT.ok
    },
  })
}
