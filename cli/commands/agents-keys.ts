import type { SigningKey } from '../../sdk/generated/api.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { findAgent } from '../find-agent.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { listItems } from '../resource.ts'
import { UsageError } from '../run.ts'
import { openSigner } from '../signing-key.ts'

export const agentsKeys = listItems({
  usage: 'agents signing-keys AGENT',
  flags: '[--limit N]',
  about: `Lists the signing keys of an agent, by its id or its name, in the order in which they were registered.`,
  examples: ['agents signing-keys buyer'],
  columns: [
    ['KID', ({ kid }) => kid],
    ['ALG', ({ alg }) => alg],
    ['REQUIRED', ({ required }) => (required ? 'yes' : 'no')],
    ['REGISTERED', ({ registeredAt }) => registeredAt],
    ['REVOKED', ({ revokedAt }) => revokedAt],
  ] satisfies readonly Column<SigningKey>[],
  request: async (client, agent) => client.agents.listSigningKeys((await findAgent(client, agent)).id),
})

const REGISTER_USAGE = 'agents register-key AGENT FILE'

export const agentsRegisterKey = defineCommand({
  help: `tallystick ${REGISTER_USAGE} [--endorsed-by FILE] [--required --yes]

Registers a key of \`agents keygen\`, with which the agent signs for itself. The first key of an agent needs an API key
with the scope agents:manage. Each further key must be endorsed by a current key of the agent.

  --endorsed-by FILE  a current key of the agent
  --required          from now on accept only entries that the agent has signed. Can't be undone
  --yes               needed with --required
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick agents register-key buyer buyer.pem --required --yes
  tallystick agents register-key buyer next.pem --endorsed-by buyer.pem
`,
  options: {
    'endorsed-by': { type: 'string' },
    required: { type: 'boolean' },
    yes: { type: 'boolean' },
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const [name, file] = two(positionals, REGISTER_USAGE)
    const { required = false, 'endorsed-by': endorser } = values
    if (required && !values.yes) throw new UsageError("--required can't be undone: add --yes")
    const signer = await openSigner(file)
    const endorsedBy = endorser === undefined ? undefined : await openSigner(endorser)
    const client = await connect(values)
    const { id: agent } = await findAgent(client, name)
    const { id: ledger } = await client.ledger.get()
    const request = await signer.registration({ ledger, agent }, { required, endorsedBy })
    printItem(await client.agents.registerSigningKey(agent, request), values.json, io.stdout)
    return EXIT.ok
  },
})

const REVOKE_USAGE = 'agents revoke-key AGENT KID --yes'

export const agentsRevokeKey = defineCommand({
  help: `tallystick ${REVOKE_USAGE}

Revokes a signing key of an agent: its signatures are refused from then on. Earlier signatures stay valid. Can't be
undone. Needs an API key of the agent, or one with the scope agents:manage.

  --yes            needed, because it can't be undone
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick agents revoke-key buyer "$(tallystick agents signing-keys buyer | jq -r .kid | head -1)" --yes
`,
  options: { yes: { type: 'boolean' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const [name, kid] = two(positionals, REVOKE_USAGE)
    if (!values.yes) throw new UsageError(`revoking ${kid} can't be undone: add --yes`)
    const client = await connect(values)
    const { id } = await findAgent(client, name)
    printItem(await client.agents.revokeSigningKey(id, kid), values.json, io.stdout)
    return EXIT.ok
  },
})

function two(positionals: readonly string[], usage: string): readonly [string, string] {
  const [first, second, ...more] = positionals
  if (first === undefined || second === undefined || more.length > 0)
    throw new UsageError(`usage: tallystick ${usage}`)
  return [first, second]
}
