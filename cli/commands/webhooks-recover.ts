import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick webhooks recover WEBHOOK --since TIME [--until TIME] [--delivered]

Delivers what was recorded in a time, is for the webhook, and was never delivered to it: because it was given up or left out, or
the webhook asked for less at that time. A receiver that has lost what it had gets all of it again with --delivered. It goes on
by itself: \`recovery\` in the \`standing\` of \`tallystick webhooks get\` says how far it is. Needs a key with the scope
webhooks:manage.

  --since TIME     recorded then or later: RFC 3339, UTC
  --until TIME     recorded before; otherwise as far as the webhook has come
  --delivered      also what was delivered
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks recover whk_01kd2m3n4p5q6r7s8t9v0w1x2y --since 2026-11-20T12:00:00Z
  tallystick webhooks recover whk_01kd2m3n4p5q6r7s8t9v0w1x2y --since 2026-11-20T12:00:00Z --until 2026-11-20T14:00:00Z --delivered
`

export const webhooksRecover = defineCommand({
  help: HELP,
  options: {
    since: { type: 'string' },
    until: { type: 'string' },
    delivered: { type: 'boolean' },
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'webhooks recover WEBHOOK --since TIME')
    const { since, until, delivered } = values
    if (since === undefined) throw new UsageError('say: tallystick webhooks recover WEBHOOK --since TIME')
    const client = await connect(values)
    const webhook = await client.webhooks.recover(id, { since, until, delivered })
    printItem(webhook, values.json, io.stdout)
    return EXIT.ok
  },
})
