import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick keys revoke KEY --yes

Revokes an API key: every server refuses it within 5 s. There is no way back. Needs a key with the scope keys:manage.

  --yes            needed, because it can't be undone
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick keys revoke key_01kd2m3n4p5q6r7s8t9v0w1x2y --yes
`

export const keysRevoke = defineCommand({
  help: HELP,
  options: { yes: { type: 'boolean' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'keys revoke KEY --yes')
    if (!values.yes) throw new UsageError(`revoking ${id} can't be undone: add --yes`)
    const client = await connect(values)
    printItem(await client.keys.revoke(id), values.json, io.stdout)
    return EXIT.ok
  },
})
