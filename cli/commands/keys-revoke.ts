import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick keys revoke KEY [--also-made] --yes

Revokes an API key: every server refuses it within 5 s. Can't be undone. Needs a key with the scope keys:manage.

  --also-made      also revoke the keys that it made, those that they made, and so on. Works for a revoked key too:
                   after a theft run this again 5 s later, because until then other servers may have accepted the key
  --yes            needed, because it can't be undone
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick keys revoke key_01kd2m3n4p5q6r7s8t9v0w1x2y --yes
  tallystick keys revoke key_01kd2m3n4p5q6r7s8t9v0w1x2y --also-made --yes
`

export const keysRevoke = defineCommand({
  help: HELP,
  options: {
    yes: { type: 'boolean' },
    'also-made': { type: 'boolean' },
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'keys revoke KEY --yes')
    if (!values.yes) throw new UsageError(`revoking ${id} can't be undone: add --yes`)
    const client = await connect(values)
    const alsoMade = values['also-made'] ?? false
    const all: string[] = []
    for (;;) {
      const { alsoRevoked, hasMore, ...key } = await client.keys.revoke(id, { alsoMade })
      all.push(...alsoRevoked)
      if (hasMore) continue
      printItem(alsoMade ? { ...key, alsoRevoked: all } : key, values.json, io.stdout)
      return EXIT.ok
    }
  },
})
