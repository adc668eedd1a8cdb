import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { STEP_HELP, STEP_OPTIONS, stepOptions, writeMembers } from '../record-options.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick verdict RECORD accept|reject [--if-version N]

Judges what was delivered. A step of the principal, on a record that is VERIFIED or DISCREPANT.

  --reason TEXT          the reason, for people; can be erased
  --valid-until TIME     when the settlement signal expires. Default: never
${STEP_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick verdict rec_01kd2m3n4p5q6r7s8t9v0w1x2y accept
  tallystick verdict rec_01kd2m3n4p5q6r7s8t9v0w1x2y reject --reason 'half of it is missing'
`

export const verdict = defineCommand({
  help: HELP,
  options: {
    reason: { type: 'string' },
    'valid-until': { type: 'string' },
    ...STEP_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, [id, verdict, ...more], io) {
    if (id === undefined || (verdict !== 'accept' && verdict !== 'reject') || more.length > 0)
      throw new UsageError('usage: tallystick verdict RECORD accept|reject')
    const client = await connect(values)
    const record = await client.records.verdict(
      id,
      {
        verdict,
        reason: values.reason,
        validUntil: values['valid-until'],
        ...writeMembers(values),
      },
      stepOptions(values),
    )
    printItem(record, values.json, io.stdout)
    return EXIT.ok
  },
})
