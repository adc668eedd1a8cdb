import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick webhooks redeliver-dead WEBHOOK [--since TIME]

Delivers all that was given up, oldest first, and says how much that is. Needs a key with the scope webhooks:manage.

  --since TIME     only events of this time or later: RFC 3339, UTC
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks redeliver-dead whk_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick webhooks redeliver-dead whk_01kd2m3n4p5q6r7s8t9v0w1x2y --since 2026-11-20T12:00:00Z
`

export const webhooksRedeliverDead = defineCommand({
  help: HELP,
  options: { since: { type: 'string' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'webhooks redeliver-dead WEBHOOK')
    const client = await connect(values)
    const redelivered = await client.webhooks.redeliverDead(id, { since: values.since })
    printItem({ redelivered }, values.json, io.stdout)
    return EXIT.ok
  },
})
