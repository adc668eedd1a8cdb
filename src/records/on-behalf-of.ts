import type pg from 'pg'
import { findAgents } from '../db/agents.ts'
import { ApiError } from '../errors.ts'
import { ProofError } from '../proof/error.ts'
import { parseId } from '../proof/ids.ts'
import type { Caller } from '../tenancy/caller.ts'

/** The agent in whose name a key with the scope `agents:act` acts. */
export type OnBehalfOf = { readonly agent: string; readonly agentId: Uint8Array }

/**
 * Resolves the agents that `names` names, once each: all must be agents of the caller's ledger, and the key must
 * be allowed to act for others. Throws ApiError; for the items of a batch, with `index`.
 */
export async function resolveOnBehalfOf(
  pool: pg.Pool,
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
    await refuseUnknown(pool, caller, [...agents.values()], (agent) => at(names.indexOf(agent)))
  return agents
}

async function refuseUnknown(
  pool: pg.Pool,
  caller: Caller,
  agents: OnBehalfOf[],
  membersOf: (agent: string) => object,
): Promise<void> {
  const found = await findAgents(
    pool,
    caller.ledgerId,
    agents.map((a) => a.agentId),
  )
  for (const { agent, agentId } of agents) {
    const known = found.get(Buffer.from(agentId).toString('hex'))
    if (known && !known.disabled) continue
    if (known)
      throw new ApiError('agent_disabled', `${agent} was disabled`, { members: { ...membersOf(agent) } })
    throw new ApiError('unknown_agent', `the ledger has no agent ${agent}`, {
      members: { ...membersOf(agent) },
    })
  }
}

function parseAgent(agent: string, members: object): Uint8Array {
  try {
    return parseId('agt', agent)
  } catch (error) {
    if (error instanceof ProofError)
      throw new ApiError('unknown_agent', `${agent} is not an agent's id`, { members: { ...members } })
    throw error
  }
}
