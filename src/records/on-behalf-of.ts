import type { Lookups } from '../db/records/lookups.ts'
import { ApiError } from '../errors.ts'
import type { Caller } from '../ledgers/caller.ts'
import { ProofError } from '../proof/error.ts'
import { parseId, type Uuid } from '../proof/ids.ts'
import { parseRemoteAgent } from '../proof/statement/remote-agents.ts'
import { agentIdOf } from './agent-ids.ts'

/** The agent in whose name a key with the scope `agents:act` acts. */
export type OnBehalfOf = { readonly agent: string; readonly agentId: Uuid }

/** Party of the record or step. */
export function partyOf(caller: Caller, onBehalfOf: OnBehalfOf | null): Uuid {
  return onBehalfOf?.agentId ?? caller.agentId
}

/**
 * Resolves the agents that `names` names, once each: all must be agents of the caller's ledger, and the key must
 * be allowed to act for others. Throws ApiError; for the items of a batch, with `index`.
 */
export async function resolveOnBehalfOf(
  lookups: Lookups,
  caller: Caller,
  names: readonly (string | undefined)[],
  of: 'record' | 'batch',
): Promise<ReadonlyMap<string, OnBehalfOf>> {
  const at = (index: number) => (of === 'batch' ? { index } : {})
  const agents = new Map<string, OnBehalfOf>()
  for (const [index, agent] of names.entries()) {
    if (agent === undefined || agents.has(agent)) continue
    if (!caller.scopes.has('agents:act')) {
      throw new ApiError(
        'forbidden',
        `the API key ${caller.key} lacks the scope agents:act, which onBehalfOf needs`,
        {
          members: { scope: 'agents:act', ...at(index) },
        },
      )
    }
    agents.set(agent, { agent, agentId: parseAgent(agent, at(index)) })
  }
  if (agents.size > 0)
    await refuseUnknown(lookups, caller, [...agents.values()], (agent) => at(names.indexOf(agent)))
  return agents
}

/**
 * The agent that is to perform a record: any of the ledger's, or one of a ledger that the record is shared with. Only
 * that ledger knows its agents. Throws `unknown_agent`, `agent_disabled`, `performer_not_shared`.
 */
export async function resolvePerformer(
  lookups: Lookups,
  caller: Caller,
  performer: string | undefined,
  share: readonly { readonly ledger: string }[] | null,
): Promise<OnBehalfOf | null> {
  if (performer === undefined) return null
  const members = { path: '/performer' }
  const remote = parseRemoteAgent(performer)
  if (remote) {
    if (share?.some(({ ledger }) => ledger === remote.ledger))
      return { agent: performer, agentId: agentIdOf(performer) }
    const why =
      remote.ledger === caller.ledger
        ? `an agent of this ledger is written ${remote.agent}`
        : `the record is not shared with ${remote.ledger}`
    throw new ApiError('performer_not_shared', why, { members })
  }
  const agent = { agent: performer, agentId: parseAgent(performer, members) }
  await refuseUnknown(lookups, caller, [agent], () => members)
  return agent
}

async function refuseUnknown(
  lookups: Lookups,
  caller: Caller,
  agents: OnBehalfOf[],
  membersOf: (agent: string) => object,
): Promise<void> {
  const standings = await Promise.all(
    agents.map(({ agentId }) => lookups.findAgent(caller.ledgerId, agentId)),
  )
  for (const [i, { agent }] of agents.entries()) {
    if (standings[i] === 'active') continue
    if (standings[i] === 'disabled')
      throw new ApiError('agent_disabled', `${agent} was disabled`, { members: { ...membersOf(agent) } })
    throw new ApiError('unknown_agent', `the ledger has no agent ${agent}`, {
      members: { ...membersOf(agent) },
    })
  }
}

function parseAgent(agent: string, members: object): Uuid {
  try {
    return parseId('agt', agent)
  } catch (error) {
    if (error instanceof ProofError)
      throw new ApiError('unknown_agent', `${agent} is not an agent's id`, { members: { ...members } })
    throw error
  }
}
