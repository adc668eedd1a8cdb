import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS } from '../output.ts'
import { deliveryArguments, printDelivery } from '../webhook-deliveries.ts'

const HELP = `tallystick webhooks delivery WEBHOOK EVENT

Shows the delivery of an event to a webhook, with its attempts: when, how long each took, and the answer. Needs a key
with the scope webhooks:manage.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks delivery whk_01kd2m3n4p5q6r7s8t9v0w1x2y evt_01kd2m3n4p5q6r7s8t9v0w1x2y
`

export const webhooksDelivery = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const [id, event] = deliveryArguments(positionals, 'webhooks delivery WEBHOOK EVENT')
    const client = await connect(values)
    await printDelivery(await client.webhooks.delivery(id, event), values.json, io.stdout)
    return EXIT.ok
  },
})
