import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import {
  PEER_HELP,
  PEER_OPTIONS,
  STEP_HELP,
  STEP_OPTIONS,
  stepOptions,
  writeMembers,
} from '../record-options.ts'

const HELP = `tallystick activate RECORD [--if-version N]

Takes the work on: the record becomes ACTIVE, and yours to deliver. Where it names a performer, only that agent can.

${PEER_HELP}
${STEP_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick activate rec_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick activate rec_01kd2m3n4p5q6r7s8t9v0w1x2y --if-version 1
`

export const activate = defineCommand({
  help: HELP,
  options: { ...PEER_OPTIONS, ...STEP_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'activate RECORD')
    const client = await connect(values)
    const record = await client.records.activate(
      id,
      { peer: values.peer, ...writeMembers(values) },
      stepOptions(values),
    )
    printItem(record, values.json, io.stdout)
    return EXIT.ok
  },
})
