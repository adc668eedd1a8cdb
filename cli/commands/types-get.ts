import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick types get NAME/VERSION

Shows a type, with its definition.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick types get order/1
  tallystick types get order/1 | jq .definition > order-1.json
`

export const typesGet = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const type = onlyArgument(positionals, 'types get NAME/VERSION')
    const client = await connect(values)
    printItem(await client.types.get(type), values.json, io.stdout)
    return EXIT.ok
  },
})
