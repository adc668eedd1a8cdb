import type { GetCheckpointsAnswer } from '../../sdk/generated/api.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick checkpoints list [--limit N]

Lists the sizes at which the ledger's checkpoints were published, newest first. Needs a key with the scope audit:read.

${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick checkpoints list --limit 10
  tallystick checkpoints list --limit 1 | jq .size
`

const COLUMNS: readonly Column<GetCheckpointsAnswer['data'][number]>[] = [
  ['SIZE', ({ size }) => size],
  ['PUBLISHED', ({ publishedAt }) => publishedAt],
]

export const checkpointsList = defineCommand({
  help: HELP,
  options: { ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'checkpoints list')
    const client = await connect(values)
    await printItems(limited(client.checkpoints.list(), values, io), COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
