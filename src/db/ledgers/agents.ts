import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'

export type AgentRow = {
  readonly agentId: Uuid
  readonly name: string
  readonly registeredAt: Date
  readonly disabledAt: Date | null
}

const SELECT_AGENTS = `select a.agent_id, a.name, r.recorded_at as registered_at, d.recorded_at as disabled_at
  from tallystick.agents a
  join tallystick.entries r on r.ledger_id = a.ledger_id and r.seq = a.registered_seq
  left join tallystick.entries d on d.ledger_id = a.ledger_id and d.seq = a.disabled_seq`

export type AgentKey = { readonly ledgerId: Uuid; readonly agentId: Uuid }
export type AgentState = 'active' | 'disabled' | 'unknown'

/** Returns the agents' states in the order of `keys`. */
export async function findAgentStates(pool: Db, keys: readonly AgentKey[]): Promise<AgentState[]> {
  const { rows } = await pool.query<{ state: AgentState }>({
    name: 'find_agent_states',
    text: `select case when a.agent_id is null then 'unknown' when a.disabled_seq is null then 'active' else 'disabled' end
        as state
      from unnest($1::uuid[], $2::uuid[]) with ordinality k (ledger_id, agent_id, ix)
      left join lateral (
        select * from tallystick.agents x where x.ledger_id = k.ledger_id and x.agent_id = k.agent_id offset 0
      ) a on true
      order by k.ix`,
    values: [keys.map(({ ledgerId }) => ledgerId), keys.map(({ agentId }) => agentId)],
  })
  return rows.map(({ state }) => state)
}

export async function findAgent(pool: Db, ledgerId: Uuid, agentId: Uuid): Promise<AgentRow | null> {
  const { rows } = await pool.query<AgentRow>({
    name: 'find_agent',
    text: `${SELECT_AGENTS} where a.ledger_id = $1 and a.agent_id = $2`,
    values: [ledgerId, agentId],
  })
  return rows[0] ?? null
}

export async function findAgentByName(pool: Db, ledgerId: Uuid, name: string): Promise<AgentRow | null> {
  const { rows } = await pool.query<AgentRow>({
    name: 'find_agent_by_name',
    text: `${SELECT_AGENTS} where a.ledger_id = $1 and a.name = $2`,
    values: [ledgerId, name],
  })
  return rows[0] ?? null
}

/** Lists agents in the order of their ids. Begins after the agent `after`. */
export async function listAgents(
  pool: Db,
  ledgerId: Uuid,
  page: { after: Uuid | null; limit: number },
): Promise<AgentRow[]> {
  const { rows } = await pool.query<AgentRow>({
    name: 'list_agents',
    text: `${SELECT_AGENTS} where a.ledger_id = $1 and ($2::uuid is null or a.agent_id > $2)
      order by a.agent_id limit $3`,
    values: [ledgerId, page.after, page.limit],
  })
  return rows
}
