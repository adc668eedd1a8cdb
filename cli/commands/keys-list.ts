import type { ApiKey } from '../../sdk/generated/api.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { findAgent } from '../find-agent.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick keys list [--agent AGENT] [--limit N]

Lists the ledger's API keys, in the order in which they were made, without their secrets. Needs a key with one of the scopes
keys:manage, audit:read.

  --agent AGENT    only those of this agent (agt_…, or its name)
${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick keys list --agent buyer
  tallystick keys list | jq -r 'select(.revokedAt == null) | .id'
`

const COLUMNS: readonly Column<ApiKey>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['AGENT', ({ agent }) => agent],
  ['SCOPES', ({ scopes }) => scopes.join(',')],
  ['EXPIRES', ({ expiresAt }) => expiresAt],
  ['REVOKED', ({ revokedAt }) => revokedAt],
]

export const keysList = defineCommand({
  help: HELP,
  options: { agent: { type: 'string' }, ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'keys list')
    const client = await connect(values)
    const agent = values.agent === undefined ? undefined : (await findAgent(client, values.agent)).id
    const keys = limited(client.keys.list({ agent }), values, io)
    await printItems(keys, COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
