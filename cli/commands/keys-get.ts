import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick keys get KEY

Shows an API key, without its secret. Needs a key with one of the scopes keys:manage, audit:read.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick keys get key_01kd2m3n4p5q6r7s8t9v0w1x2y
`

export const keysGet = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'keys get KEY')
    const client = await connect(values)
    printItem(await client.keys.get(id), values.json, io.stdout)
    return EXIT.ok
  },
})
