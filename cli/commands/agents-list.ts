import type { Agent } from '../../sdk/generated/api.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick agents list [--limit N]

Lists the ledger's agents, in the order in which they were registered. Needs a key with one of the scopes agents:manage,
keys:manage, audit:read, records:read.

${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick agents list
  tallystick agents list | jq -r 'select(.disabledAt == null) | .name'
`

const COLUMNS: readonly Column<Agent>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['REGISTERED', ({ registeredAt }) => registeredAt],
  ['DISABLED', ({ disabledAt }) => disabledAt],
]

export const agentsList = defineCommand({
  help: HELP,
  options: { ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'agents list')
    const client = await connect(values)
    await printItems(limited(client.agents.list(), values, io), COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
