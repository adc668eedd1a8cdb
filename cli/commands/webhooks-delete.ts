import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick webhooks delete WEBHOOK --yes

Deletes a webhook, with its secrets and the log of its deliveries. Can't be undone: to stop it for a while, pause it.
Prints nothing. Needs a key with the scope webhooks:manage.

  --yes            needed, because it can't be undone
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks delete whk_01kd2m3n4p5q6r7s8t9v0w1x2y --yes
`

export const webhooksDelete = defineCommand({
  help: HELP,
  options: { yes: { type: 'boolean' }, ...CONNECTION_OPTIONS },
  async run(values, positionals) {
    const id = onlyArgument(positionals, 'webhooks delete WEBHOOK --yes')
    if (!values.yes) throw new UsageError(`deleting ${id} can't be undone: add --yes`)
    const client = await connect(values)
    await client.webhooks.delete(id)
    return EXIT.ok
  },
})
