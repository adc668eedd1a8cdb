import { onlyArgument, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { OUTPUT_HELP } from '../output.ts'
import { printSecret, SECRET_HELP, SECRET_OPTIONS } from '../print-secret.ts'

const HELP = `tallystick keys rotate KEY [--overlap SECONDS]

Gives an API key a new secret, which is only printed once. The key's id, agent and scopes do not change. Older secrets
stay valid for an hour, or for --overlap. Needs a key with the scope keys:manage.

  --overlap SECONDS   how long older secrets stay valid; 0: not at all
${SECRET_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick keys rotate key_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick keys rotate key_01kd2m3n4p5q6r7s8t9v0w1x2y --overlap 0 --env > buyer.env
`

export const keysRotate = defineCommand({
  help: HELP,
  options: { overlap: { type: 'string' }, ...CONNECTION_OPTIONS, ...SECRET_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'keys rotate KEY')
    const overlapSeconds = parseCount(values.overlap, '--overlap', { min: 0 })
    const client = await connect(values)
    return printSecret(await client.keys.rotate(id, { overlapSeconds }), values, io)
  },
})
