import type { Agent } from '../../sdk/generated/api.ts'
import { findAgent } from '../find-agent.ts'
import type { Column } from '../output.ts'
import { listItems, showItem } from '../resource.ts'
import { UsageError } from '../run.ts'

export const agentsList = listItems({
  usage: 'agents list',
  flags: '[--limit N]',
  about: `Lists the ledger's agents, in the order of registration. Needs a key with one of the scopes agents:manage,
keys:manage, audit:read, records:read.`,
  examples: ['agents list', `agents list | jq -r 'select(.disabledAt == null) | .name'`],
  columns: [
    ['ID', ({ id }) => id],
    ['NAME', ({ name }) => name],
    ['REGISTERED', ({ registeredAt }) => registeredAt],
    ['DISABLED', ({ disabledAt }) => disabledAt],
  ] satisfies readonly Column<Agent>[],
  request: (client) => client.agents.list(),
})

export const agentsGet = showItem({
  usage: 'agents get AGENT',
  about: `Shows an agent, by its id or its name.`,
  examples: ['agents get buyer', 'agents get buyer | jq -r .id'],
  request: (client, agent) => findAgent(client, agent),
})

export const agentsDisable = showItem({
  usage: 'agents disable AGENT --yes',
  about: `Disables an agent, by its id or its name, and all of its keys. Can't be undone. Needs a key with the scope
agents:manage.`,
  options: { yes: { type: 'boolean' } },
  optionsHelp: "  --yes            needed, because it can't be undone",
  examples: ['agents disable buyer --yes'],
  parse: ({ yes }, agent) => {
    if (!yes)
      throw new UsageError(`disabling ${agent}, and with it all of its keys, can't be undone: add --yes`)
  },
  request: async (client, agent) => client.agents.disable((await findAgent(client, agent)).id),
})

export const agentsRegister = showItem({
  usage: 'agents register NAME',
  about: `Registers an agent. Its name can never be used again in the ledger. \`tallystick keys create\` registers an agent with
the name of the key by itself. Needs a key with the scope agents:manage.`,
  examples: ['agents register buyer', 'agents register buyer | jq -r .id'],
  request: (client, name) => client.agents.register({ name }),
})
