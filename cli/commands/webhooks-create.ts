import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { OUTPUT_HELP } from '../output.ts'
import { printWebhookSecret, SECRET_OPTIONS, WEBHOOK_SECRET_HELP } from '../print-secret.ts'
import { UsageError } from '../run.ts'
import { WEBHOOK_OPTIONS, webhookSettings } from '../webhook-options.ts'

const HELP = `tallystick webhooks create --url URL --events EVENT,… [--types TYPE,…] [--include WHAT,…] [--description TEXT]

Delivers later events to a URL. Prints what its receiver verifies deliveries with: the secret is only printed once.
Needs a key with the scope webhooks:manage; to include documents, also records:read.

  --url URL        https:, without a user and without a fragment
  --events E,…     names of events, for example signal.emitted,record.expired; or only *, for all
  --types T,…      only events about records of these types: order/1, or order for all its versions
  --include W,…    what to add to the signed content: documents, envelope
  --description T  a description
${WEBHOOK_SECRET_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks create --url https://payments.example/hook --events signal.emitted --env > webhook.env
  tallystick webhooks create --url https://example.com/hook --events '*' --types order --include documents,envelope
`

export const webhooksCreate = defineCommand({
  help: HELP,
  options: { ...WEBHOOK_OPTIONS, ...CONNECTION_OPTIONS, ...SECRET_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'webhooks create --url URL --events EVENT,…')
    const { url, events, ...rest } = webhookSettings(values)
    if (url === undefined || events === undefined)
      throw new UsageError('usage: tallystick webhooks create --url URL --events EVENT,…')
    const client = await connect(values)
    return printWebhookSecret(await client.webhooks.create({ url, events, ...rest }), values, io)
  },
})
