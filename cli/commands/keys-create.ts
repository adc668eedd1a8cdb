import type { ApiKey } from '../../sdk/generated/api.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { findAgent } from '../find-agent.ts'
import { OUTPUT_HELP } from '../output.ts'
import { printSecret, SECRET_HELP, SECRET_OPTIONS } from '../print-secret.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick keys create NAME --scopes SCOPE,… [--agent AGENT] [--expires-at TIME]

Makes an API key. Without --agent it belongs to the agent of its name, which is registered if there is none. Its secret is
printed once, and never again. A key can be given only scopes that your own has. Needs a key with the scope keys:manage.

  --scopes S,…     what it may do, for example records:write,records:read:own (docs/reference/access.md has all)
  --agent AGENT    whose it is (agt_…, or its name)
  --expires-at T   refused from then on: RFC 3339, UTC
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
      throw new UsageError('say: tallystick keys create NAME --scopes SCOPE,…')
    const client = await connect(values)
    const made = await client.keys.create({
      name,
      // The server checks the scopes: a newer one may have more than this tool knows.
      scopes: values.scopes.split(',') as ApiKey['scopes'],
      agent: values.agent === undefined ? undefined : (await findAgent(client, values.agent)).id,
      expiresAt: values['expires-at'],
    })
    return printSecret(made, values, io)
  },
})
