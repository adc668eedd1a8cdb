import type { ApiKey } from '../../sdk/generated/api.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { findAgent } from '../find-agent.ts'
import { OUTPUT_HELP } from '../output.ts'
import { printSecret, SECRET_HELP, SECRET_OPTIONS } from '../print-secret.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick keys create NAME --scopes SCOPE,… [--agent AGENT] [--expires-at TIME]

Makes an API key. Without --agent the key belongs to the agent with the key's name, which is registered if it is new.
The secret is only printed once. The key can only have scopes that your own key has. Needs a key with the scope
keys:manage.

  --scopes S,…     its scopes, for example records:write,records:read:own (all: docs/reference/access.md)
  --agent AGENT    the agent that owns the key (agt_…, or its name)
  --expires-at T   when the key expires: RFC 3339, UTC
${SECRET_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick keys create buyer --scopes records:write,records:read:own
  tallystick keys create auditor --scopes audit:read --env > auditor.env
  tallystick keys create courier-2 --agent courier --scopes records:write --expires-at 2027-01-01T00:00:00Z
`

export const keysCreate = defineCommand({
  help: HELP,
  options: {
    scopes: { type: 'string' },
    agent: { type: 'string' },
    'expires-at': { type: 'string' },
    ...CONNECTION_OPTIONS,
    ...SECRET_OPTIONS,
  },
  async run(values, [name, ...more], io) {
    if (name === undefined || more.length > 0 || values.scopes === undefined)
      throw new UsageError('usage: tallystick keys create NAME --scopes SCOPE,…')
    const client = await connect(values)
    const made = await client.keys.create({
      name,
      // The server checks the scopes, because a newer server may have scopes that this tool does not know.
      scopes: values.scopes.split(',') as ApiKey['scopes'],
      agent: values.agent === undefined ? undefined : (await findAgent(client, values.agent)).id,
      expiresAt: values['expires-at'],
    })
    return printSecret(made, values, io)
  },
})
