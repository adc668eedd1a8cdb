import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { STEP_HELP, STEP_OPTIONS, stepOptions, writeMembers } from '../record-options.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick overturn RECORD --reason TEXT [--if-version N]

Turns a rejection into an acceptance. Anybody's but the performer's; needs the scope verdicts:overturn.

  --reason TEXT          why, for people; can be erased
  --valid-until TIME     until when the settlement signal may be acted upon; otherwise without end
${STEP_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick overturn rec_01kd2m3n4p5q6r7s8t9v0w1x2y --reason 'the appeal was granted'
`

export const overturn = defineCommand({
  help: HELP,
  options: {
    reason: { type: 'string' },
    'valid-until': { type: 'string' },
    ...STEP_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'overturn RECORD --reason TEXT')
    if (values.reason === undefined) throw new UsageError('overturn needs --reason TEXT')
    const client = await connect(values)
    const record = await client.records.overturn(
      id,
      { reason: values.reason, validUntil: values['valid-until'], ...writeMembers(values) },
      stepOptions(values),
    )
    printItem(record, values.json, io.stdout)
    return EXIT.ok
  },
})
