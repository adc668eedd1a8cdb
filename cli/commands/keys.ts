import type { ApiKey } from '../../sdk/generated/api.ts'
import { findAgent } from '../find-agent.ts'
import type { Column } from '../output.ts'
import { listItems, showItem } from '../resource.ts'

export const keysList = listItems({
  usage: 'keys list',
  flags: '[--agent AGENT] [--limit N]',
  about: `Lists the ledger's API keys, in the order in which they were made, without their secrets. Needs a key with one of the scopes
keys:manage, audit:read.`,
  options: { agent: { type: 'string' } },
  optionsHelp: '  --agent AGENT    only those of this agent (agt_…, or its name)',
  examples: ['keys list --agent buyer', `keys list | jq -r 'select(.revokedAt == null) | .id'`],
  columns: [
    ['ID', ({ id }) => id],
    ['NAME', ({ name }) => name],
    ['AGENT', ({ agent }) => agent],
    ['SCOPES', ({ scopes }) => scopes.join(',')],
    ['EXPIRES', ({ expiresAt }) => expiresAt],
    ['REVOKED', ({ revokedAt }) => revokedAt],
  ] satisfies readonly Column<ApiKey>[],
  ask: async (client, _, { agent }) =>
    client.keys.list({ agent: agent === undefined ? undefined : (await findAgent(client, agent)).id }),
})

export const keysGet = showItem({
  usage: 'keys get KEY',
  about: `Shows an API key, without its secret. Needs a key with one of the scopes keys:manage, audit:read.`,
  examples: ['keys get key_01kd2m3n4p5q6r7s8t9v0w1x2y'],
  ask: (client, id) => client.keys.get(id),
})
