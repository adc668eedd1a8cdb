import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS } from '../output.ts'
import { deliveryArguments, printDelivery } from '../webhook-deliveries.ts'

const HELP = `tallystick webhooks redeliver WEBHOOK EVENT

Delivers an event now, under the same id, also if it was delivered or given up before. Failed attempts are repeated as
for a new event. Earlier events of its record that still wait are delivered first. Needs a key with the scope
webhooks:manage.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks redeliver whk_01kd2m3n4p5q6r7s8t9v0w1x2y evt_01kd2m3n4p5q6r7s8t9v0w1x2y
`

export const webhooksRedeliver = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const [id, event] = deliveryArguments(positionals, 'webhooks redeliver WEBHOOK EVENT')
    const client = await connect(values)
    await printDelivery(await client.webhooks.redeliver(id, event), values.json, io.stdout)
    return EXIT.ok
  },
})
