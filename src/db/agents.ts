import type pg from 'pg'
import { fromUuid, toUuid } from './uuid.ts'

export type AgentRow = {
  readonly agentId: Uint8Array
  readonly name: string
  readonly registeredAt: Date
  readonly disabledAt: Date | null
}

type Columns = { agent_id: string; name: string; registered_at: Date; disabled_at: Date | null }

const SELECT_AGENTS = `select a.agent_id, a.name, r.recorded_at as registered_at, d.recorded_at as disabled_at
  from tallystick.agents a
  join tallystick.entries r on r.ledger_id = a.ledger_id and r.seq = a.registered_seq
  left join tallystick.entries d on d.ledger_id = a.ledger_id and d.seq = a.disabled_seq`

/** Which of `agentIds` are agents of the ledger, as lower-case hex, and whether each is disabled. */
export async function findAgents(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  agentIds: Uint8Array[],
): Promise<Map<string, { readonly disabled: boolean }>> {
  const { rows } = await pool.query<{ agent_id: string; disabled: boolean }>({
    name: 'find_agents',
    text: `select agent_id, disabled_seq is not null as disabled from tallystick.agents
      where ledger_id = $1 and agent_id = any ($2::uuid[])`,
    values: [toUuid(ledgerId), agentIds.map(toUuid)],
  })
  return new Map(rows.map((row) => [row.agent_id.replaceAll('-', ''), { disabled: row.disabled }]))
}

export async function findAgent(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  agentId: Uint8Array,
): Promise<AgentRow | null> {
  const { rows } = await pool.query<Columns>({
    name: 'find_agent',
    text: `${SELECT_AGENTS} where a.ledger_id = $1 and a.agent_id = $2`,
    values: [toUuid(ledgerId), toUuid(agentId)],
  })
  return rows[0] ? toRow(rows[0]) : null
}

export async function findAgentByName(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  name: string,
): Promise<AgentRow | null> {
  const { rows } = await pool.query<Columns>({
    name: 'find_agent_by_name',
    text: `${SELECT_AGENTS} where a.ledger_id = $1 and a.name = $2`,
    values: [toUuid(ledgerId), name],
  })
  return rows[0] ? toRow(rows[0]) : null
}

/** In the order of their ids, after `after`. */
export async function listAgents(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  page: { after: Uint8Array | null; limit: number },
): Promise<AgentRow[]> {
  const { rows } = await pool.query<Columns>({
    name: 'list_agents',
    text: `${SELECT_AGENTS} where a.ledger_id = $1 and ($2::uuid is null or a.agent_id > $2)
      order by a.agent_id limit $3`,
    values: [toUuid(ledgerId), page.after && toUuid(page.after), page.limit],
  })
  return rows.map(toRow)
}

function toRow(row: Columns): AgentRow {
  return {
    agentId: fromUuid(row.agent_id),
    name: row.name,
    registeredAt: row.registered_at,
    disabledAt: row.disabled_at,
  }
}
