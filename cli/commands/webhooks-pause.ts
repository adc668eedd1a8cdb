import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick webhooks pause WEBHOOK

Delivers nothing to a webhook until it is resumed; what happens meanwhile waits for it. Needs a key with the scope
webhooks:manage.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks pause whk_01kd2m3n4p5q6r7s8t9v0w1x2y
`

export const webhooksPause = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'webhooks pause WEBHOOK')
    const client = await connect(values)
    printItem(await client.webhooks.pause(id), values.json, io.stdout)
    return EXIT.ok
  },
})
