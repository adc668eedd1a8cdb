import { onlyArgument, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { OUTPUT_HELP } from '../output.ts'
import { printWebhookSecret, SECRET_OPTIONS, WEBHOOK_SECRET_HELP } from '../print-secret.ts'

const HELP = `tallystick webhooks rotate-secret WEBHOOK [--overlap SECONDS]

Gives a webhook a new secret and public key, and prints them; the secret is only printed once. For a day, or for
--overlap, deliveries are signed with the older ones too, so that the receiver can change over. Needs a key with the
scope webhooks:manage.

  --overlap SECONDS   how long deliveries are signed with the older ones too; 0: not at all
${WEBHOOK_SECRET_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks rotate-secret whk_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick webhooks rotate-secret whk_01kd2m3n4p5q6r7s8t9v0w1x2y --overlap 0 --env > webhook.env
`

export const webhooksRotateSecret = defineCommand({
  help: HELP,
  options: { overlap: { type: 'string' }, ...CONNECTION_OPTIONS, ...SECRET_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'webhooks rotate-secret WEBHOOK')
    const overlapSeconds = parseCount(values.overlap, '--overlap', { min: 0 })
    const client = await connect(values)
    return printWebhookSecret(await client.webhooks.rotateSecret(id, { overlapSeconds }), values, io)
  },
})
