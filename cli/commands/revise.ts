import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { STEP_HELP, STEP_OPTIONS, stepOptions, writeMembers } from '../record-options.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick revise RECORD --reason TEXT [--if-version N]

Asks for the work to be delivered again: the record becomes ACTIVE once more. The principal's step.

  --reason TEXT          why, for people; can be erased
${STEP_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick revise rec_01kd2m3n4p5q6r7s8t9v0w1x2y --reason 'the labels are missing'
`

export const revise = defineCommand({
  help: HELP,
  options: { reason: { type: 'string' }, ...STEP_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'revise RECORD --reason TEXT')
    if (values.reason === undefined) throw new UsageError('revise needs --reason TEXT')
    const client = await connect(values)
    const record = await client.records.requestRevision(
      id,
      { reason: values.reason, ...writeMembers(values) },
      stepOptions(values),
    )
    printItem(record, values.json, io.stdout)
    return EXIT.ok
  },
})
