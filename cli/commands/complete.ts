import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { readGiven } from '../json-input.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import {
  PEER_HELP,
  PEER_OPTIONS,
  STEP_HELP,
  STEP_OPTIONS,
  stepOptions,
  writeMembers,
} from '../record-options.ts'

const HELP = `tallystick complete RECORD [--evidence JSON|FILE|-] [--if-version N]

Delivers the work, with evidence that the type's rules compare with what was agreed. Evidence is read from standard
input where none is given. The performer's step.

  --evidence JSON        the evidence itself, a file that holds it, or - for standard input
  --salt SALT            16 bytes, base64url: for a digest that you know beforehand
${PEER_HELP}
${STEP_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick complete rec_01kd2m3n4p5q6r7s8t9v0w1x2y --evidence '{"quantity":100,"deliveryNote":"DN-17"}'
  tallystick complete rec_01kd2m3n4p5q6r7s8t9v0w1x2y --evidence delivery.json --idempotency-key note-17
  node deliver.js | tallystick complete rec_01kd2m3n4p5q6r7s8t9v0w1x2y
`

export const complete = defineCommand({
  help: HELP,
  options: {
    evidence: { type: 'string' },
    salt: { type: 'string' },
    ...PEER_OPTIONS,
    ...STEP_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'complete RECORD [--evidence JSON|FILE|-]')
    const evidence = await readGiven(values.evidence ?? '-', '--evidence', io)
    const client = await connect(values)
    const record = await client.records.complete(
      id,
      { evidence, salt: values.salt, peer: values.peer, ...writeMembers(values) },
      stepOptions(values),
    )
    printItem(record, values.json, io.stdout)
    return EXIT.ok
  },
})
