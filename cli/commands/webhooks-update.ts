import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'
import { WEBHOOK_OPTIONS, webhookSettings } from '../webhook-options.ts'

const HELP = `tallystick webhooks update WEBHOOK [--url URL] [--events EVENT,…] [--types TYPE,…] [--include WHAT,…] [--description TEXT]

Changes a webhook. What is not given stays as it is, and so do its secrets: where the URL is another receiver's now, rotate
them. Needs a key with the scope webhooks:manage; where documents are included, also records:read.

  --url URL        https:, without a user and without a fragment
  --events E,…     names of events; or * alone: all
  --types T,…      only about records of these types; '' for all
  --include W,…    documents, envelope; '' for neither
  --description T  what it is for; '' for none
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks update whk_01kd2m3n4p5q6r7s8t9v0w1x2y --url https://payments.example/v2/hook
  tallystick webhooks update whk_01kd2m3n4p5q6r7s8t9v0w1x2y --types '' --include envelope
`

export const webhooksUpdate = defineCommand({
  help: HELP,
  options: { ...WEBHOOK_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'webhooks update WEBHOOK --url URL')
    const changes = webhookSettings(values)
    if (Object.values(changes).every((change) => change === undefined))
      throw new UsageError('webhooks update needs something to change: --url, --events, --types, …')
    const client = await connect(values)
    printItem(await client.webhooks.update(id, changes), values.json, io.stdout)
    return EXIT.ok
  },
})
