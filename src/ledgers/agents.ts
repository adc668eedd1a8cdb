import type pg from 'pg'
import type { Author } from '../append/entry.ts'
import type { IdempotencyRow } from '../db/chain/append-entries.ts'
import { findSubject } from '../db/chain/read-entries.ts'
import { type AgentRow, findAgent, findAgentByName } from '../db/ledgers/agents.ts'
import { ApiError } from '../errors.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import type { Entropy } from '../signing/entropy.ts'
import { type AdministerDeps, type Administration, administer, digestOf } from './administration.ts'
import type { CallerCache } from './caller.ts'

export type AgentDeps = AdministerDeps & {
  readonly entropy: Entropy
  readonly readPool: pg.Pool
  readonly callers: CallerCache
}

/** An agent after a write. `replayed`: true if an earlier request with the same Idempotency-Key wrote the entry. */
type AgentWritten = { readonly agent: AgentRow; readonly replayed: boolean }

/** Registers an agent. Throws `name_taken` if another agent has the name. */
export async function registerAgent(
  deps: AgentDeps,
  author: Author,
  name: string,
  idempotency: IdempotencyRow | null,
): Promise<AgentWritten> {
  // A request with an Idempotency-Key skips this check, because an earlier attempt of the same request may have
  // registered the name. The database then finds the earlier attempt.
  if (idempotency === null && (await findAgentByName(deps.readPool, author.ledgerId, name)))
    throw new ApiError('name_taken', 'the ledger has another agent of this name')
  const agentId = deps.entropy.uuidv7(deps.now())
  const done = await administer(deps, author, { ...registrationOf(agentId, name), idempotency })
  const id = done.replayed ? await findSubject(deps.readPool, author.ledgerId, done.seq) : agentId
  return { agent: await getAgent(deps.readPool, author.ledgerId, id!), replayed: done.replayed }
}

/** Disables an agent permanently. Within seconds its keys are refused, and nobody can act on its behalf any more. */
export async function disableAgent(
  deps: AgentDeps,
  author: Author,
  agentId: Uuid,
  idempotency: IdempotencyRow | null,
): Promise<AgentWritten> {
  const { name, disabledAt } = await getAgent(deps.readPool, author.ledgerId, agentId)
  // A request with an Idempotency-Key skips this check, because an earlier attempt of the same request may have
  // disabled the agent. The database then finds the earlier attempt.
  if (disabledAt !== null && idempotency === null)
    throw new ApiError('already_ended', `${formatId('agt', agentId)} was already disabled`)
  const { replayed } = await administer(deps, author, {
    ...aboutAgent('agent-disabled', agentId, name),
    detail: {},
    idempotency,
  })
  deps.callers.forget(author.ledgerId)
  return { agent: await getAgent(deps.readPool, author.ledgerId, agentId), replayed }
}

/** Returns the agent with this name, and registers it first if it does not exist. Throws `agent_disabled`. */
export async function ensureAgent(deps: AgentDeps, author: Author, name: string): Promise<AgentRow> {
  const known = await findAgentByName(deps.readPool, author.ledgerId, name)
  if (known) return requireActive(known)
  try {
    return (await registerAgent(deps, author, name, null)).agent
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'name_taken')) throw error
    // Another request has registered the agent in the meantime.
    return requireActive((await findAgentByName(deps.readPool, author.ledgerId, name))!)
  }
}

export function requireActive(agent: AgentRow): AgentRow {
  if (agent.disabledAt === null) return agent
  throw new ApiError('agent_disabled', `${formatId('agt', agent.agentId)} was disabled`)
}

async function getAgent(pool: pg.Pool, ledgerId: Uuid, agentId: Uuid): Promise<AgentRow> {
  const agent = await findAgent(pool, ledgerId, agentId)
  if (!agent) throw new ApiError('not_found', `the ledger has no agent ${formatId('agt', agentId)}`)
  return agent
}

export function registrationOf(agentId: Uuid, name: string): Administration {
  return { ...aboutAgent('agent-registered', agentId, name), detail: { name } }
}

/**
 * Returns the part that the entries `agent-registered` and `agent-disabled` have in common. Both entries contain the
 * same digest, because verifiers compare the two digests.
 */
function aboutAgent<Kind extends 'agent-registered' | 'agent-disabled'>(
  kind: Kind,
  agentId: Uuid,
  name: string,
) {
  const agent = formatId('agt', agentId)
  const predicate = { agent, name }
  return { kind, subject: { id: agentId, name: agent, digest: digestOf(predicate) }, predicate }
}
