import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick webhooks get WEBHOOK

Shows a webhook, without its secrets; \`standing\` says how far it has heard, and how it answers. Needs a key with the scope
webhooks:manage.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks get whk_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick webhooks get whk_01kd2m3n4p5q6r7s8t9v0w1x2y | jq .standing
`

export const webhooksGet = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'webhooks get WEBHOOK')
    const client = await connect(values)
    printItem(await client.webhooks.get(id), values.json, io.stdout)
    return EXIT.ok
  },
})
