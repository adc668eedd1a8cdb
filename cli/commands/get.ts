import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick get RECORD

Shows a record as it stands.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick get rec_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick get rec_01kd2m3n4p5q6r7s8t9v0w1x2y | jq .gated.verdict
`

export const get = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, [id, ...more]) {
    if (id === undefined || more.length > 0) throw new UsageError('say: tallystick get RECORD')
    const client = await connect(values)
    printItem(await client.records.get(id), values.json)
    return EXIT.ok
  },
})
