import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import type { Db } from '../../db/connect/client.ts'
import type { Lookups } from '../../db/records/lookups.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { ProofError } from '../../proof/error.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { parseRemoteAgent } from '../../proof/statement/remote-agents.ts'
import { agentIdOf } from '../read/agent-ids.ts'
import { findFirstOutcome } from './first-outcome.ts'

/** The agent on whose behalf a key with the scope `agents:act` acts. */
export type OnBehalfOf = { readonly agent: string; readonly agentId: Uuid }

type AgentDeps = { readonly lookups: Lookups; readonly readPool: Db }

export function partyOf(caller: Caller, onBehalfOf: OnBehalfOf | null): Uuid {
  return onBehalfOf?.agentId ?? caller.agentId
}

/**
 * Returns the agent that a request names; null if the request names none. The agent must belong to the caller's ledger,
 * and the caller's key must be allowed to act for others. A disabled agent is accepted in a retry of a request that
 * succeeded, because the retry gets the first answer. Throws ApiError.
 */
export async function resolveOnBehalfOf(
  deps: AgentDeps,
  caller: Caller,
  agent: string | undefined,
  idempotency: IdempotencyRow | null,
): Promise<OnBehalfOf | null> {
  if (agent === undefined) return null
  const [found] = await resolveAllOnBehalfOf(deps, caller, [{ agent, members: {} }], idempotency)
  return found!
}

/**
 * Resolves several agents. `members`: additional members of the problem document that is sent if this agent is refused.
 */
export async function resolveAllOnBehalfOf(
  deps: AgentDeps,
  caller: Caller,
  named: readonly { readonly agent: string; readonly members: object }[],
  idempotency: IdempotencyRow | null,
): Promise<OnBehalfOf[]> {
  if (named.length > 0 && !caller.scopes.has('agents:act')) {
    const detail = `the API key ${caller.key} lacks the scope agents:act, which onBehalfOf needs`
    throw new ApiError('forbidden', detail, { members: { scope: 'agents:act', ...named[0]!.members } })
  }
  const agents = named.map(({ agent, members }) => ({ agent, agentId: parseAgent(agent, members) }))
  await refuseUnknown(deps, caller, agents, (i) => named[i]!.members, idempotency)
  return agents
}

/**
 * Returns the performer of a record: an agent of the ledger, or of a ledger with which the record is shared. A remote
 * agent is not looked up, because only its own ledger knows it. A disabled agent is accepted in a retry (see
 * resolveOnBehalfOf). Throws `unknown_agent`, `agent_disabled`, `performer_not_shared`.
 */
export async function resolvePerformer(
  deps: AgentDeps,
  caller: Caller,
  performer: string | undefined,
  share: readonly { readonly ledger: string }[] | null,
  idempotency: IdempotencyRow | null,
): Promise<OnBehalfOf | null> {
  if (performer === undefined) return null
  const members = { path: '/performer' }
  const remote = parseRemoteAgent(performer)
  if (remote) {
    if (share?.some(({ ledger }) => ledger === remote.ledger))
      return { agent: performer, agentId: agentIdOf(performer) }
    const why =
      remote.ledger === caller.ledger
        ? `write an agent of this ledger as ${remote.agent}`
        : `the record is not shared with ${remote.ledger}`
    throw new ApiError('performer_not_shared', why, { members })
  }
  const agent = { agent: performer, agentId: parseAgent(performer, members) }
  await refuseUnknown(deps, caller, [agent], () => members, idempotency)
  return agent
}

async function refuseUnknown(
  deps: AgentDeps,
  caller: Caller,
  agents: OnBehalfOf[],
  membersOf: (i: number) => object,
  idempotency: IdempotencyRow | null,
): Promise<void> {
  const states = await Promise.all(
    agents.map(({ agentId }) => deps.lookups.findAgent(caller.ledgerId, agentId)),
  )
  const isRepeated =
    states.includes('disabled') && (await findFirstOutcome(deps, caller, idempotency)) !== null
  for (const [i, { agent }] of agents.entries()) {
    if (states[i] === 'active' || (states[i] === 'disabled' && isRepeated)) continue
    if (states[i] === 'disabled')
      throw new ApiError('agent_disabled', `${agent} was disabled`, { members: { ...membersOf(i) } })
    throw new ApiError('unknown_agent', `the ledger has no agent ${agent}`, {
      members: { ...membersOf(i) },
    })
  }
}

function parseAgent(agent: string, members: object): Uuid {
  try {
    return parseId('agt', agent)
  } catch (error) {
    if (error instanceof ProofError)
      throw new ApiError('unknown_agent', `${agent} is not the id of an agent`, { members: { ...members } })
    throw error
  }
}
